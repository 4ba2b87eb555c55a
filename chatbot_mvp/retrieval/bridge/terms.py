"""Number the terms of a corpus in the order of their first use, and count how documents use them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, first_flags
from chatbot_mvp.retrieval.bridge.keys import FirstUses, Keys, KeyTable, find, key_of
from chatbot_mvp.retrieval.bridge.mentions import Flags
from chatbot_mvp.storage.arrays import ArrayFiles


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


class PartTerms(NamedTuple):
    """The U terms of a part in the order of their numbers. Arrays have shape (U,), with counts of the whole corpus."""

    of_stem: Array
    """For each stem of the part, the index of its term in the other arrays; -1 for stems of stop words only."""
    number: Array
    """Number of the term, rising."""
    documents: Array
    """Documents with the term in text or title."""
    titles: Array
    """Documents with the term in the title."""
    is_proper: Flags
    """Whether the term is hardly ever written in lower case, is no number and has at least 3 letters."""
    new: int
    """Number of terms that no earlier part has. They come last."""


class TermTable:
    """Collects the terms of a corpus part by part, in files."""

    def __init__(self, files: ArrayFiles) -> None:
        self._files = files
        self._terms = FirstUses(files, "terms")
        # What is a stop word in one text can have the stem of a term in another one.
        self._stop_words = KeyTable(files, "stop_words")

    def __len__(self) -> int:
        """Return the number of distinct terms, after ``finish``."""
        return self._terms.total

    def add(self, stem_key: Keys, used: Ints, uses: Array, cases: Array) -> None:
        """Add the counts of a part.

        Args:
            stem_key: key of each of S stems of the part.
            used: the stems that are terms, in the order of their first use; the others are of stop words only.
            uses: number of documents, and of titles, with each stem, shape (2, S).
            cases: number of documents with the stem in small letters, and with a capital letter, shape (2, S).
        """
        (documents, titles), (lower, upper) = uses.astype(np.int32), cases.astype(np.int32)
        self._terms.add(
            stem_key.take(used),
            stem=used.astype(np.int32),
            documents=documents.take(used),
            titles=titles.take(used),
            lower=lower.take(used),
            upper=upper.take(used),
        )
        others = np.ones(len(stem_key), bool)
        others[used] = False
        self._stop_words.add(stem_key.compress(others), lower=lower.compress(others), upper=upper.compress(others))

    def finish(self) -> None:
        """Number the terms, add up their counts, and write the arrays of ``Vocabulary``."""
        self._terms.finish()
        table, stop_words = self._terms.table, self._stop_words
        for of in table.ranges():
            key, number, *counts = table.read(of, "key", "number", "documents", "titles", "lower", "upper")
            order = key.argsort(kind="stable")
            first = first_flags(key.take(order))
            at, which = first.nonzero()[0], np.empty(len(key), np.int64)
            which[order] = first.cumsum() - 1
            known = key.take(order[at])
            documents, titles, lower, upper = (_sums(each.take(order), at) for each in counts)
            others, *cases = stop_words.read(of, "key", "lower", "upper")
            found = find(known, others)
            for counted, case in zip((lower, upper), cases, strict=True):
                np.add.at(counted, found[found >= 0], case[found >= 0])
            table.write(of, "documents", documents.take(which))
            table.write(of, "titles", titles.take(which))
            table.write(of, "rarely_lower", (lower <= 0.1 * upper).take(which))
            self._files.append("vocabulary.key", known)
            self._files.append("vocabulary.number", number.take(order[at]))
        stop_words.forget()

    def of_part(self, part: int, may_be_proper: Flags) -> PartTerms:
        """Return the terms of a part, after ``finish``.

        Args:
            may_be_proper: whether each of S stems of the part may be a proper word by its letters, shape (S,).
        """
        columns = ("number", "stem", "documents", "titles", "rarely_lower", "first")
        number, *others, first = self._terms.table.piece(part, *columns)
        order = number.argsort()
        stem, documents, titles, rarely_lower = (each.take(order) for each in others)
        of_stem = np.full(len(may_be_proper), -1, np.int32)
        of_stem[stem] = np.arange(len(stem))
        is_proper = rarely_lower & may_be_proper.take(stem)
        return PartTerms(of_stem, number.take(order), documents, titles, is_proper, int(np.count_nonzero(first)))

    def forget(self) -> None:
        """Delete the files that only the build needs."""
        self._terms.table.forget()


def _sums(values: Array, at: Ints) -> Array:
    """Add up the values from each of some indices to the next one."""
    return np.add.reduceat(values, at, dtype=np.int32) if len(at) else values
