"""A question as the walk sees it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.text import Analyzer

_UNSEEN = 0.5
"""A term that no document has counts this much of the highest idf: it may be a mere word of the question."""
_MAX_TERMS = 512
"""Distinct content words of a question that the walk looks at, the first ones; BM25 takes them all."""


class Terms(NamedTuple):
    """The distinct content terms of a question: T of them."""

    numbers: Ints
    """Term numbers of those that the corpus has."""
    slots: Ints
    """For each of ``numbers`` its number among the T terms."""
    idf: Floats
    """Shape (T,)."""
    total: float
    """Sum of ``idf``; 1 if there is no term."""
    pair_start: Ints
    """Shape (T + 1,): where the pairs begin whose first term is a given one."""
    pair_second: Ints
    """The second term of each pair of terms that follow each other in the question."""
    pair_weight: Floats
    """The lower idf of each pair, as a share of all pairs."""


class Named(NamedTuple):
    """The documents that a question names."""

    rows: Ints
    strength: Floats
    """0-1: of the best name of each document in the question."""
    idf: Floats
    """Sum of the idf of that name's terms."""


def read_question(text: str, graph: MentionGraph, analyzer: Analyzer) -> tuple[Terms, Named]:
    """Analyse a question against a corpus."""
    words = analyzer.words(text)
    slot_of: dict[str, int] = {}
    slots: list[int] = []
    for word in words:
        is_term = not word.is_stop and (word.stem in slot_of or len(slot_of) < _MAX_TERMS)
        slots.append(slot_of.setdefault(word.stem, len(slot_of)) if is_term else -1)
    numbers = [graph.vocabulary.get(stem, -1) for stem in slot_of]
    unseen = graph.unseen_idf * _UNSEEN
    idf = [unseen if number < 0 else graph.idf.item(number) for number in numbers]
    terms = Terms(
        numbers=np.array([number for number in numbers if number >= 0], np.int64),
        slots=np.array([slot for slot, number in enumerate(numbers) if number >= 0], np.int64),
        idf=np.array(idf, np.float32),
        total=sum(idf) or 1.0,
        **_pairs(slots, idf),
    )
    named: dict[int, tuple[float, float]] = {}
    cased = any(word.text[0].isupper() for word in words[1:])
    for mention in graph.names.mentions(words, cased):
        name_idf = sum(idf[slot] for slot in set(slots[mention.start : mention.end]) if slot >= 0)
        for row, strength in graph.names.meant(mention):
            best = named.get(row)
            if best is None or strength * name_idf > best[0] * best[1]:
                named[row] = (strength, name_idf)
    by_column = np.array(list(named.values()), np.float32).reshape(-1, 2).T.copy()
    return terms, Named(np.array(list(named), np.int64), by_column[0], by_column[1])


def _pairs(slots: list[int], idf: list[float]) -> dict[str, Array]:
    content = [slot for slot in slots if slot >= 0]
    pairs = sorted({(first, second) for first, second in pairwise(content) if first != second})
    lower = [min(idf[first], idf[second]) for first, second in pairs]
    total = sum(lower) or 1.0
    first_of_pairs = [first for first, _ in pairs]
    return {
        "pair_start": np.array([bisect_left(first_of_pairs, slot) for slot in range(len(idf) + 1)], np.int64),
        "pair_second": np.array([second for _, second in pairs], np.int64),
        "pair_weight": np.array([weight / total for weight in lower], np.float32),
    }
