"""Inverted indexes in flat arrays: where each feature of some texts occurs, and the search for the best texts.

``Postings`` has counts, and serves scores of all texts of a knowledge base. ``Impacts`` has scores, and serves the
search for the few best ones of many documents.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Flags, Floats, Ints, distinct, first_flags, offsets, rows_of
from chatbot_mvp.retrieval.bm25 import K1, bm25, idf
from chatbot_mvp.retrieval.splicing import spliced

_NONE = -1
_PAIR = 2**32
"""A pair's code is the number of its first term times this, plus that of its second, however many terms there are."""
_FEW = 50_000
"""Up to this number of postings, adding all of them up takes less time than choosing among them."""
_SLACK = 1.0001
"""Factor that covers the rounding of sums in single precision."""


class Postings:
    """The rows (paragraphs, windows, chunks) in which each feature occurs, with its counts.

    Args:
        numbers: feature -> its number.
        features: number of the feature of each occurrence.
        rows: row of each occurrence.
        count: number of rows.
        counted: keep how often a feature occurs in a row; otherwise ``counts`` returns ones.
    """

    times: Array | None = None
    """How often the feature of each entry of ``row`` occurs there."""

    def __init__(
        self, numbers: Mapping[Any, int], features: Array, rows: Array, count: int, counted: bool = False
    ) -> None:
        keys, times = distinct(features.astype(np.int64) * max(1, count) + rows)
        self._index(numbers, len(numbers), keys, count)
        if counted:
            self.times = times.astype(np.int32)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], counted: bool = False) -> Postings:
        """Index texts, each given as its features; the texts are the rows."""
        numbers: dict[str, int] = {}
        found, lengths = array("i"), array("i")
        for features in texts:
            found.extend(numbers.setdefault(feature, len(numbers)) for feature in features)
            lengths.append(len(features))
        return cls(numbers, np.array(found, np.int32), rows_of(np.array(lengths, np.int64)), len(lengths), counted)

    def changed(self, numbers: Mapping[Any, int], placed: Array, features: Array, rows: Array, count: int) -> Self:
        """Return the postings after a change of rows. Features without rows keep their numbers.

        Args:
            numbers: as given before, with the new features behind the others.
            placed: as in ``splicing.Rows``.
            features, rows: of each occurrence in the rows that ``placed`` does not give.
            count: number of rows now.
        """
        keys, times = distinct(features.astype(np.int64) * max(1, count) + rows)
        return self._spliced(numbers, len(numbers), placed, keys, times, count)

    def _spliced(
        self, numbers: Mapping[Any, int], features: int, placed: Array, keys: Array, times: Array, count: int
    ) -> Self:
        found = copy(self)
        found.count, found.numbers = count, numbers
        feature, row = np.divmod(keys, max(1, count))
        added = feature, row.astype(np.int32), times.astype(np.int32)
        found.start, found.row, found.times = spliced(self.start, self.row, self.times, placed, added, features)
        return found

    def _index(self, numbers: Mapping[Any, int], features: int, keys: Array, count: int) -> None:
        """Set up the arrays of distinct (feature x count + row), in rising order."""
        self.count = count
        self.numbers = numbers
        feature, row = np.divmod(keys, max(1, count))
        self.start = np.searchsorted(feature, np.arange(features + 1))
        self.row = row.astype(np.int32)

    def __contains__(self, feature: Hashable) -> bool:
        return len(self.rows(feature)) > 0

    def rows(self, feature: Hashable) -> Array:
        """Return the rows that have the feature, in rising order."""
        return self.row[self._span(feature)]

    def rows_of_any(self, features: Iterable[Hashable]) -> Array:
        """Return the rows that have at least one of the features, in rising order."""
        return np.flatnonzero(self.having(features))

    def counts(self, feature: Hashable) -> Doubles:
        """Return how often the feature occurs in each of ``rows(feature)``."""
        span = self._span(feature)
        return np.ones(span.stop - span.start) if self.times is None else self.times[span].astype(float)

    def idf(self, feature: Hashable) -> float:
        """Return ``bm25.idf`` of the feature."""
        span = self._span(feature)
        return idf(self.count, span.stop - span.start)

    def bm25(self, weights: Mapping[Any, float], norm: Doubles, k1: float = K1) -> Doubles:
        """Return for each row the sum of weight x BM25 over the features; ``norm`` is the rows' ``length_norm``."""
        scores = np.zeros(self.count)
        for feature, weight in weights.items():
            rows = self.rows(feature)
            scores[rows] += bm25(weight * self.idf(feature), self.counts(feature), norm[rows], k1)
        return scores

    def having(self, features: Iterable[Hashable]) -> Doubles:
        """Return how many of the distinct features each row has."""
        counts = np.zeros(self.count)
        for feature in set(features):
            counts[self.rows(feature)] += 1
        return counts

    def _span(self, feature: Hashable) -> slice:
        number = self._number(feature)
        return slice(0, 0) if number == _NONE else slice(int(self.start[number]), int(self.start[number + 1]))

    def _number(self, feature: Hashable) -> int:
        return self.numbers.get(feature, _NONE)


class PairPostings(Postings):
    """The paragraphs in which two terms stand together, at most one term apart. A feature is a pair of terms.

    Args:
        numbers: term -> its number, below 2**31.
        terms: number of each term of the paragraphs' sequences, one after the other.
        rows: paragraph of each entry of ``terms``.
        count: number of paragraphs.
    """

    def __init__(self, numbers: Mapping[Any, int], terms: Array, rows: Array, count: int) -> None:
        codes, row = _pairs(terms, rows)
        self._codes, number = np.unique(codes, return_inverse=True)
        keys, _ = distinct(number.astype(np.int64) * max(1, count) + row)
        self._index(numbers, len(self._codes), keys, count)

    def changed(self, numbers: Mapping[Any, int], placed: Array, features: Array, rows: Array, count: int) -> Self:
        """As for ``Postings``; ``features`` are the terms of the new paragraphs' sequences, one after the other."""
        codes, row = _pairs(features, rows)
        added, number = np.unique(codes, return_inverse=True)
        # The codes of both in one rising order, and the new number of each.
        at = np.searchsorted(self._codes, added)
        known = at < len(self._codes)
        known[known] = self._codes[at[known]] == added[known]
        before = at[~known]
        every = np.insert(self._codes, before, added[~known])
        numbers_before = np.arange(len(self._codes))
        lengths = np.zeros(len(every), np.int64)
        lengths[numbers_before + np.searchsorted(before, numbers_before, "right")] = np.diff(self.start)
        old = copy(self)
        old.start = offsets(lengths)
        keys, times = distinct(np.searchsorted(every, added)[number] * max(1, count) + row)
        found = old._spliced(numbers, len(every), placed, keys, times, count)
        there = np.diff(found.start) > 0
        found._codes, found.start = every[there], np.append(found.start[:-1][there], found.start[-1])
        found.__dict__.pop("_has_digit", None)
        return found

    def numbers_after(self, term: str) -> int:
        """Return how many different terms with a digit stand behind ``term``, at most one term apart."""
        one = self.numbers.get(term, _NONE)
        if one == _NONE:
            return 0
        begin, end = np.searchsorted(self._codes, (one * _PAIR, (one + 1) * _PAIR))
        return int(self._has_digit[self._codes[begin:end] - one * _PAIR].sum())

    @cached_property
    def _has_digit(self) -> Flags:
        return np.array([any(map(str.isdigit, term)) for term in self.numbers], dtype=bool)

    def _number(self, feature: Hashable) -> int:
        assert isinstance(feature, tuple), "a feature is a pair of terms"
        one, other = (self.numbers.get(term, _NONE) for term in feature)
        if _NONE in (one, other):
            return _NONE
        code = one * _PAIR + other
        at = int(np.searchsorted(self._codes, code))
        return at if at < len(self._codes) and self._codes[at] == code else _NONE


def _pairs(terms: Array, rows: Array) -> tuple[Ints, Array]:
    """Return (code, row) of each pair of terms that stand together. Arguments as for ``PairPostings``."""
    wide = terms.astype(np.int64)
    pairs, places = [], []
    for apart in (1, 2):
        together = rows[apart:] == rows[:-apart]
        pairs.append((wide[:-apart] * _PAIR + wide[apart:])[together])
        places.append(rows[apart:][together])
    return np.concatenate(pairs), np.concatenate(places)


class Impacts(NamedTuple):
    """The documents of each term, by its number, and its score there, which is known before any question.

    Entries ``start[t]:start[t + 1]`` belong to term t.
    """

    start: Ints
    row: Array
    """Row of the document, rising within a term."""
    impact: Floats
    """Score of the term in the document, above 0."""
    highest: Floats
    """Highest score of each term in a document."""


def search(impacts: Impacts, terms: Ints, limit: int, total: Floats) -> tuple[Ints, Floats]:
    """Return (rows, scores) of the best ``limit`` documents, best first, ties by row.

    Args:
        terms: numbers of the question's distinct terms.
        total: work array with a zero for each document; all zeros again when the search returns.
    """
    if not len(terms):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    spans = list(zip(impacts.start.take(terms).tolist(), impacts.start.take(terms + 1).tolist(), strict=True))
    if sum(end - begin for begin, end in spans) <= _FEW:
        rows, scores = _all_sums(impacts, spans, limit, total)
    else:
        rows = _possible(impacts, terms, limit, total)
        scores = np.zeros(len(rows), np.float32)
        for term in terms.tolist():  # in the question's order, in which rounding is the same for every corpus
            scores += _looked_up(impacts, term, rows)
    order = np.lexsort((rows, -scores))
    best = order.compress(first_flags(rows.take(order)))[:limit]
    return rows.take(best).astype(np.int64), scores.take(best)


def _all_sums(impacts: Impacts, spans: Sequence[tuple[int, int]], limit: int, total: Floats) -> tuple[Array, Floats]:
    """Return (rows, sums) of the best documents and some more, by adding up all postings of some terms.

    A document is there once for each of its terms.
    """
    found = np.concatenate([impacts.row[begin:end] for begin, end in spans])
    np.add.at(total, found, np.concatenate([impacts.impact[begin:end] for begin, end in spans]))
    scores = total.take(found)
    total[found] = 0
    most = limit * len(spans)
    if most < len(scores):
        best = (scores >= np.partition(scores, -most)[-most]).nonzero()[0]
        found, scores = found.take(best), scores.take(best)
    return found, scores


def _possible(impacts: Impacts, terms: Ints, limit: int, total: Floats) -> Ints:
    """Return the rows, in rising order, of the best documents and some more, without reading all postings.

    MaxScore (Turtle & Flood 1995): the postings of rare terms are added up. As soon as the frequent terms left cannot
    lift a new document among the best ones, they are only looked up for the documents found so far.
    """
    count = impacts.start.take(terms + 1) - impacts.start.take(terms)
    by_rarity = terms.take(count.argsort(kind="stable")).tolist()
    left = float(impacts.highest.take(terms).sum(dtype=np.float64)) * _SLACK
    found: list[Array] = []
    size, least = 0, 0.0
    while by_rarity:
        term = by_rarity[0]
        begin, end = int(impacts.start[term]), int(impacts.start[term + 1])
        if size >= limit and end - begin > _FEW // 10:
            least = float(np.partition(total.take(np.concatenate(found)), -limit)[-limit]) / _SLACK
            if left < least:
                break
        rows = impacts.row[begin:end]
        found.append(rows[total.take(rows) == 0])
        size += len(found[-1])
        total[rows] += impacts.impact[begin:end]
        left -= float(impacts.highest[term]) * _SLACK
        by_rarity.pop(0)
    rows = np.sort(np.concatenate(found)).astype(np.int64)
    scores = total.take(rows)
    total[rows] = 0
    for term in by_rarity:
        kept = (scores + left >= least).nonzero()[0]
        rows, scores = rows.take(kept), scores.take(kept)
        scores += _looked_up(impacts, term, rows)
        left -= float(impacts.highest[term]) * _SLACK
        least = max(least, float(np.partition(scores, -limit)[-limit]) / _SLACK)
    return rows.take((scores + left >= least).nonzero()[0])


def _looked_up(impacts: Impacts, term: int, rows: Ints) -> Floats:
    """Return the score of a term in some documents, 0 where it does not occur. ``rows`` rise."""
    begin, end = int(impacts.start[term]), int(impacts.start[term + 1])
    of_term = impacts.row[begin:end]
    at = of_term.searchsorted(rows.astype(np.int32))
    at[at == len(of_term)] = 0
    found: Floats = np.where(of_term.take(at) == rows, impacts.impact[begin:end].take(at), np.float32(0))
    return found
