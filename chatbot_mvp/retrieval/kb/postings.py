"""Inverted indexes in flat arrays (compressed sparse rows): a vocabulary, offsets, rows and counts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]
"""An array of whole numbers of any width."""
_NONE = -1


def distinct(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct values of ``keys`` in rising order, and how often each occurs. Sorts ``keys`` in place."""
    keys.sort()
    first = np.flatnonzero(np.concatenate((np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1])))
    return keys[first], np.diff(np.append(first, len(keys)))


def rows_of(lengths: Numbers) -> Numbers:
    """Return the row number of every item, for rows of the given lengths: (2, 1) gives (0, 0, 1)."""
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


class Postings:
    """Inverted index: the units (paragraphs or windows) in which each feature occurs, with its counts.

    Args:
        numbers: feature -> its number.
        features: number of the feature of each occurrence.
        rows: unit of each occurrence.
        count: number of units.
        counted: keep how often a feature occurs in a unit; otherwise ``counts`` returns ones.
    """

    _counts: Numbers | None = None

    def __init__(
        self, numbers: Mapping[Any, int], features: Numbers, rows: Numbers, count: int, counted: bool = False
    ) -> None:
        keys, times = distinct(features.astype(np.int64) * max(1, count) + rows)
        self._index(numbers, len(numbers), keys, count)
        if counted:
            self._counts = times.astype(np.int32)

    def _index(self, numbers: Mapping[Any, int], features: int, keys: Numbers, count: int) -> None:
        """Set up the arrays of distinct (feature x count + row), in rising order."""
        self.count = count
        self._numbers = numbers
        feature, row = np.divmod(keys, max(1, count))
        self._start = np.searchsorted(feature, np.arange(features + 1))
        self._rows = row.astype(np.int32)

    def __contains__(self, feature: Hashable) -> bool:
        number = self._number(feature)
        return number != _NONE and bool(self._start[number] < self._start[number + 1])

    def rows(self, feature: Hashable) -> Numbers:
        """Return the units that have the feature, in rising order."""
        return self._rows[self._span(feature)]

    def counts(self, feature: Hashable) -> Scores:
        """Return how often the feature occurs in each unit of ``rows(feature)``."""
        span = self._span(feature)
        return np.ones(span.stop - span.start) if self._counts is None else self._counts[span].astype(float)

    def idf(self, feature: Hashable) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), for n of N units. The maximum is at n = 0."""
        span = self._span(feature)
        n = span.stop - span.start
        return math.log(1 + (self.count - n + 0.5) / (n + 0.5))

    def _span(self, feature: Hashable) -> slice:
        number = self._number(feature)
        return slice(0, 0) if number == _NONE else slice(int(self._start[number]), int(self._start[number + 1]))

    def _number(self, feature: Hashable) -> int:
        return self._numbers.get(feature, _NONE)


class PairPostings(Postings):
    """The paragraphs in which two terms stand together, at most one term apart. A feature is a pair of terms.

    Args:
        numbers: term -> its number.
        terms: number of each term of the paragraphs' sequences, one after the other.
        rows: paragraph of each entry of ``terms``.
        count: number of paragraphs.
    """

    def __init__(self, numbers: Mapping[Any, int], terms: Numbers, rows: Numbers, count: int) -> None:
        self._terms = max(1, len(numbers))
        wide = terms.astype(np.int64)
        pairs, places = [], []
        for apart in (1, 2):
            together = rows[apart:] == rows[:-apart]
            pairs.append((wide[:-apart] * self._terms + wide[apart:])[together])
            places.append(rows[apart:][together])
        codes, row = np.concatenate(pairs), np.concatenate(places)
        self._codes, number = np.unique(codes, return_inverse=True)
        keys, _ = distinct(number.astype(np.int64) * max(1, count) + row)
        self._index(numbers, len(self._codes), keys, count)

    def numbers_after(self, term: str) -> int:
        """Return how many different terms with a digit stand behind ``term``, at most one term apart."""
        one = self._numbers.get(term, _NONE)
        if one == _NONE:
            return 0
        begin, end = np.searchsorted(self._codes, (one * self._terms, (one + 1) * self._terms))
        return int(self._has_digit[self._codes[begin:end] - one * self._terms].sum())

    @cached_property
    def _has_digit(self) -> npt.NDArray[np.bool_]:
        return np.array([any(map(str.isdigit, term)) for term in self._numbers], dtype=bool)

    def _number(self, feature: Hashable) -> int:
        assert isinstance(feature, tuple), "a feature is a pair of terms"
        one, other = (self._numbers.get(term, _NONE) for term in feature)
        if _NONE in (one, other):
            return _NONE
        code = one * self._terms + other
        at = int(np.searchsorted(self._codes, code))
        return at if at < len(self._codes) and self._codes[at] == code else _NONE
