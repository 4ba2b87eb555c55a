"""Analyse a question for the walk: its terms, neighbouring pairs, and the documents that it names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Doubles, Floats, Ints
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.keys import key_of
from chatbot_mvp.retrieval.bridge.mentions import Words
from chatbot_mvp.text import Analyzer, Word

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


def read_question(text: str, corpus: Corpus, analyzer: Analyzer) -> tuple[Terms, Named]:
    """Analyse a question against a corpus."""
    words = analyzer.words(text)
    slot_of: dict[str, int] = {}
    slots: list[int] = []
    for word in words:
        is_term = not word.is_stop and (word.stem in slot_of or len(slot_of) < _MAX_TERMS)
        slots.append(slot_of.setdefault(word.stem, len(slot_of)) if is_term else -1)
    numbers = [corpus.vocabulary.number(stem) for stem in slot_of]
    unseen = corpus.unseen_idf * _UNSEEN
    idf = [unseen if number < 0 else corpus.idf.item(number) for number in numbers]
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
    in_numbers = numbered(words)
    found = corpus.names.mentions(in_numbers, cased)
    name_idf = [
        sum(idf[slot] for slot in set(slots[start:end]) if slot >= 0)
        for start, end in zip(found.start.tolist(), found.end.tolist(), strict=True)
    ]
    meant = (values.tolist() for values in corpus.names.meant(in_numbers, found))
    for mention, row, strength in zip(*meant, strict=True):
        best = named.get(row)
        if best is None or strength * name_idf[mention] > best[0] * best[1]:
            named[row] = (strength, name_idf[mention])
    by_column = np.array(list(named.values()), np.float32).reshape(-1, 2).T.copy()
    return terms, Named(np.array(list(named), np.int64), by_column[0], by_column[1])


def numbered(words: Sequence[Word]) -> Words:
    """Return the words of a question, as one sentence, in the form in which names are found."""
    upper = [word.text[:1].isupper() or word.text[:1].isdigit() for word in words]
    return Words(
        np.array([_key(word.stem) for word in words], np.uint64),
        np.array([_key(word.text.lower()) for word in words], np.uint64),
        np.array([not (word.is_stop or is_upper) for word, is_upper in zip(words, upper, strict=True)], bool),
        np.array([not word.is_stop and len(word.text) >= 3 and not word.text[0].isdigit() for word in words], bool),
        np.full(len(words), len(words)),
    )


_key = lru_cache(maxsize=65_536)(key_of)


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
