"""A question as the walk sees it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.text import Analyzer

_UNSEEN = 0.5
"""A term that no document has counts this much of the highest idf: it may be a mere word of the question."""


@dataclass(frozen=True)
class Question:
    """The distinct content terms of a question (T of them) and the documents that it names."""

    terms: Ints
    """Term numbers of those that the corpus has."""
    slots: Ints
    """For each of ``terms`` its number among the T terms."""
    idf: Floats
    """Shape (T,)."""
    total: float
    """Sum of ``idf``; 1 if there is no term."""
    pairs: Array
    """Shape (T * T,): True where the second term follows the first in the question."""
    pair_weight: Floats
    """Shape (T * T,): the lower idf of a pair, as a share of all pairs."""
    named: dict[int, tuple[float, float]]
    """row -> (strength of the best name of that document in the question in 0-1, idf of that name)."""

    @property
    def size(self) -> int:
        return len(self.idf)


def read_question(text: str, graph: MentionGraph, analyzer: Analyzer) -> Question:
    """Analyse a question against a corpus."""
    words = analyzer.words(text)
    slot_of: dict[str, int] = {}
    slots = [-1 if word.is_stop else slot_of.setdefault(word.stem, len(slot_of)) for word in words]
    numbers = np.array([graph.vocabulary.get(stem, -1) for stem in slot_of], np.int64)
    known = np.flatnonzero(numbers >= 0)
    idf = np.full(len(slot_of), graph.unseen_idf * _UNSEEN, np.float32)
    idf[known] = graph.idf[numbers[known]]

    size = len(slot_of)
    pairs = np.zeros((size, size), bool)
    content = [slot for slot in slots if slot >= 0]
    for first, second in pairwise(content):
        pairs[first, second] |= first != second
    weight: Floats = (np.minimum.outer(idf, idf) * pairs).ravel()

    named: dict[int, tuple[float, float]] = {}
    cased = any(word.text[0].isupper() for word in words[1:])
    for mention in graph.names.mentions(words, cased):
        name_idf = sum(float(idf[slot]) for slot in set(slots[mention.start : mention.end]) if slot >= 0)
        for row, strength in graph.names.meant(mention):
            best = named.get(row, (0.0, 0.0))
            if strength * name_idf > best[0] * best[1] or row not in named:
                named[row] = (strength, name_idf)
    return Question(
        terms=numbers[known],
        slots=known,
        idf=idf,
        total=float(idf.sum()) or 1.0,
        pairs=pairs.ravel(),
        pair_weight=(weight / (float(weight.sum()) or 1.0)).astype(np.float32),
        named=named,
    )
