"""Number the terms of a corpus in the order of their first use, and count how documents use them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Ints
from chatbot_mvp.retrieval.bridge.keys import Keys, find, key_of
from chatbot_mvp.retrieval.bridge.mentions import Flags


class Vocabulary:
    """Finds the number of a term. Safe to share between threads.

    Args:
        keys: rising, shape (D,).
        numbers: number of the term with each key, shape (D,).
    """

    def __init__(self, keys: Keys, numbers: Array) -> None:
        self._keys = keys
        self._numbers = numbers
        self.number = lru_cache(maxsize=65_536)(self._number)
        """Maps a term to its number; -1 if no document has it."""

    def __len__(self) -> int:
        return len(self._keys)

    def _number(self, term: str) -> int:
        [at] = find(self._keys, np.array([key_of(term)], np.uint64)).tolist()
        return int(self._numbers[at]) if at >= 0 else -1


class TermCounts(NamedTuple):
    """In how many documents each of D terms occurs. All arrays have shape (D,)."""

    documents: Array
    """Documents with the term in text or title."""
    titles: Array
    """Documents with the term in the title."""
    lower: Array
    """Documents whose text has a word of this stem that begins with a small letter."""
    upper: Array
    """Documents whose text has a word of this stem that begins with a capital letter."""


class TermTable:
    """Collects the terms of a corpus part by part. Memory grows with the number of distinct terms only."""

    def __init__(self) -> None:
        self.keys, self.numbers = np.zeros(0, np.uint64), np.zeros(0, np.int32)
        self._proper = np.zeros(0, bool)
        self._counts = np.zeros((len(TermCounts._fields), 0), np.int32)
        self._of_others: list[tuple[Keys, Ints, Ints]] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, keys: Keys, proper: Flags) -> Array:
        """Return the numbers of distinct terms, in the order of their first use; new terms get the next numbers."""
        at = find(self.keys, keys)
        numbers = np.empty(len(keys), np.int32)
        old, new = (at >= 0).nonzero()[0], (at < 0).nonzero()[0]
        numbers[old] = self.numbers.take(at.take(old))
        numbers[new] = len(self) + np.arange(len(new))
        merged = np.concatenate((self.keys, keys.take(new)))
        order = merged.argsort(kind="stable")
        self.keys = merged.take(order)
        self.numbers = np.concatenate((self.numbers, numbers.take(new))).take(order)
        self._proper = np.concatenate((self._proper, proper.take(new)))
        if len(self) > self._counts.shape[1]:
            room = np.zeros((len(self._counts), len(self) + len(self) // 4 - self._counts.shape[1]), np.int32)
            self._counts = np.concatenate((self._counts, room), axis=1)
        return numbers

    def count(self, of_stem: Array, stem_key: Keys, uses: Array, cases: Array) -> None:
        """Add the counts of a part.

        Args:
            of_stem: term number of each of S stems of the part; -1 if it has them as stop words only.
            stem_key: key of each stem.
            uses: number of documents, and of titles, with each stem, shape (2, S).
            cases: number of documents with the stem in small letters, and with a capital letter, shape (2, S).
        """
        terms = (of_stem >= 0).nonzero()[0]
        self._counts[:, of_stem.take(terms)] += np.concatenate((uses, cases)).take(terms, axis=1)
        others = (of_stem < 0).nonzero()[0]
        self._of_others.append((stem_key.take(others), *cases.take(others, axis=1)))

    def counts(self) -> TermCounts:
        """Return the counts of the whole corpus."""
        # What is a stop word in one text ("other") may have the stem of a term in another one ("others").
        for keys, lower, upper in self._of_others:
            at = find(self.keys, keys)
            known = (at >= 0).nonzero()[0]
            self._counts[2:, self.numbers.take(at.take(known))] += np.stack((lower, upper)).take(known, axis=1)
        self._of_others = []
        return TermCounts(*self._counts[:, : len(self)])

    def is_proper(self, counts: TermCounts) -> Flags:
        """Return whether each term is hardly ever written in lower case, is no number and has at least 3 letters."""
        return (counts.lower <= 0.1 * counts.upper) & self._proper
