"""Analyse a question for the walk: its terms, neighbouring pairs, and the documents that it names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.keys import key_of
from chatbot_mvp.retrieval.bridge.names import Words
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


def read_questions(texts: Sequence[str], corpus: Corpus, analyzer: Analyzer) -> list[tuple[Terms, Named]]:
    """Analyse questions against a corpus."""
    asked = [analyzer.words(text) for text in texts]
    read = [_terms(words, corpus) for words in asked]
    # The names of all questions together: the time goes into calling NumPy.
    words = numbered(asked)
    found = corpus.names.mentions(words)
    owner, rows, strength = corpus.names.meant(words, found)
    ends = list(accumulate(map(len, asked)))
    named: list[dict[int, tuple[float, float]]] = [{} for _ in texts]
    places = zip(found.start.tolist(), found.end.tolist(), strict=True)
    mentions = []
    for start, end in places:
        number = bisect_right(ends, start)
        begin = ends[number] - len(asked[number])
        _, slots, idf = read[number]
        used = set(slots[start - begin : end - begin])
        mentions.append((named[number], sum(idf[slot] for slot in used if slot >= 0)))
    for mention, row, value in zip(owner.tolist(), rows.tolist(), strength.tolist(), strict=True):
        of_question, name_idf = mentions[mention]
        best = of_question.get(row)
        if best is None or value * name_idf > best[0] * best[1]:
            of_question[row] = (value, name_idf)
    return [(terms, _named(of_question)) for (terms, _, _), of_question in zip(read, named, strict=True)]


def _terms(words: Sequence[Word], corpus: Corpus) -> tuple[Terms, list[int], list[float]]:
    """Return the terms of a question, the index of each word's term (-1 if it has none), and the idf of each term."""
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
    return terms, slots, idf


def _named(of_question: dict[int, tuple[float, float]]) -> Named:
    by_column = np.array(list(of_question.values()), np.float32).reshape(-1, 2).T.copy()
    return Named(np.array(list(of_question), np.int64), by_column[0], by_column[1])


def numbered(asked: Sequence[Sequence[Word]]) -> Words:
    """Return the words of questions, each as one sentence, in the form in which names are found."""
    every: list[Word] = []
    plain: list[bool] = []
    ends: list[int] = []
    for words in asked:
        cased = any(word.text[:1].isupper() for word in words[1:])
        plain += [cased and not (word.is_stop or word.text[:1].isupper() or word.text[:1].isdigit()) for word in words]
        ends += [len(ends) + len(words)] * len(words)
        every += words
    return Words(
        np.array([_key(word.stem) for word in every], np.uint64),
        np.array([_key(word.text.lower()) for word in every], np.uint64),
        np.array(plain, bool),
        np.array([not word.is_stop and len(word.text) >= 3 and not word.text[:1].isdigit() for word in every], bool),
        np.array(ends, np.int64),
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
