"""Analyse a question for the walk: its terms, neighbouring pairs, and the documents that it names."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Doubles, Floats, Ints
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.text import Analyzer

_UNSEEN = 0.5
"""Weight of a term that no document has, as a share of the highest idf. Such a term may not name anything."""
_MAX_TERMS = 512
"""The walk uses this many of the first distinct content words of a question."""


class Terms(NamedTuple):
    """The T distinct content terms of a question."""

    numbers: Ints
    """Term numbers of the terms that the corpus has."""
    slots: Ints
    """For each entry of ``numbers``, its index (0 to T - 1) among the question's terms."""
    idf: Floats
    """Idf of each term, shape (T,)."""
    exact_idf: Doubles
    """``idf`` in double precision, for sums."""
    total: float
    """Sum of ``idf``; 1 if the question has no terms."""
    pair_first: Ints
    """For each pair of successive terms of the question, the index of the first term. Rises along the pairs."""
    pair_second: Ints
    """For each pair, the index of the second term. Rises along pairs of equal first terms."""
    pair_weight: Floats
    """For each pair, its lower idf as a share of the sum over all pairs, 0-1."""


class Named(NamedTuple):
    """The documents that a question names."""

    rows: Ints
    strength: Floats
    """0-1: strength of the best mention of each document (see ``Names.meant``)."""
    idf: Floats
    """Sum of the idf of the terms in that mention."""


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
    rounded = np.array(idf, np.float32)
    terms = Terms(
        numbers=np.array([number for number in numbers if number >= 0], np.int64),
        slots=np.array([slot for slot, number in enumerate(numbers) if number >= 0], np.int64),
        idf=rounded,
        exact_idf=rounded.astype(np.float64),
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
    return {
        "pair_first": np.array([first for first, _ in pairs], np.int64),
        "pair_second": np.array([second for _, second in pairs], np.int64),
        "pair_weight": np.array([weight / total for weight in lower], np.float32),
    }
