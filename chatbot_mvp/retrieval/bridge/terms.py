"""Number the terms of a corpus in the order of their first use, count their use, and score them in every document.

The scores are those of the walk's first search: BM25 over title and text, computed when the corpus is built. A term's
score is the higher of its title score (doubled) and its text score, plus 0.3 of the lower one (disjunction max). Terms
and documents have the numbers of the mention graph, so a search only adds precomputed numbers.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, first_flags, offsets
from chatbot_mvp.retrieval.bm25 import bm25, idfs, length_norm
from chatbot_mvp.retrieval.bridge.keys import FirstUses, Keys, KeyTable, find, key_of
from chatbot_mvp.retrieval.bridge.names import Flags
from chatbot_mvp.storage.arrays import ArrayFiles

_TITLE_BOOST = 2.0
_OTHER_FIELD = 0.3
_BUCKET = 4_000_000
"""Number of postings that are sorted together."""
_POSTING = np.dtype([("term", "<i4"), ("row", "<i4"), ("impact", "<f4")])


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


class Pairs(NamedTuple):
    """The distinct pairs of document and term of a part, ordered by both. All arrays have shape (P,)."""

    row: Ints
    """Row of the document, counted from the first document of the part."""
    term: Array
    """Index of the term among those of the part."""
    uses: Array
    """How often it occurs in text and title."""
    title: Array
    """How often it occurs in the title."""


class PostingsWriter:
    """Computes ``Impacts``, the score of every term in every document that has it, part by part.

    Args:
        documents: number of documents of the corpus.
        words, title_words: number of content words of all texts and of all titles.
    """

    def __init__(self, files: ArrayFiles, documents: int, words: int, title_words: int) -> None:
        self._files = files
        self._documents = documents
        # The title counts as part of the text, as in the other indexes.
        self._means = [max(of / max(1, documents), 1e-9) for of in (words + title_words, title_words)]
        # The postings of a bucket of terms are sorted together.
        self._first_terms: list[int] = []
        self._terms = self._postings = 0
        files.append_offsets("postings.start", np.zeros(0, np.int64))

    def add(self, begin: int, terms: PartTerms, pairs: Pairs, lengths: Array, title_lengths: Array) -> None:
        """Append the postings of a part to the files of their buckets.

        Args:
            begin: row of its first document.
            terms: terms of the part. Those that no earlier part has come last.
            pairs: the documents and terms of the part.
            lengths, title_lengths: number of content words of each document's text and title.
        """
        self._add_terms(terms.documents[len(terms.documents) - terms.new :])
        number = terms.number.take(pairs.term)
        norm = length_norm((lengths + title_lengths).take(pairs.row), self._means[0])
        text = bm25(idfs(self._documents, terms.documents).take(pairs.term), pairs.uses, norm)
        norm = length_norm(title_lengths.take(pairs.row), self._means[1])
        title = _TITLE_BOOST * bm25(idfs(self._documents, terms.titles).take(pairs.term), pairs.title, norm)
        posting = np.empty(len(number), _POSTING)
        posting["term"], posting["row"] = number, pairs.row + begin
        posting["impact"] = np.maximum(text, title) + _OTHER_FIELD * np.minimum(text, title)
        bucket = np.searchsorted(self._first_terms, terms.number, "right").astype(np.int32).take(pairs.term)
        order = bucket.argsort(kind="stable")
        ends = offsets(np.bincount(bucket, minlength=len(self._first_terms) + 1)).tolist()
        for number_of_bucket, (first, last) in enumerate(pairwise(ends)):
            if first < last:
                self._files.append(f"postings-{number_of_bucket}", posting[order[first:last]])

    def _add_terms(self, documents: Array) -> None:
        """Note in how many documents each new term occurs, and where a bucket ends."""
        self._files.append_offsets("postings.start", documents)
        ends = self._postings + np.cumsum(documents, dtype=np.int64)
        bucket = (offsets(documents)[:-1] + self._postings) // _BUCKET
        after = np.arange(len(self._first_terms) + 1, int(bucket[-1]) + 1) if len(bucket) else ()
        self._first_terms += (self._terms + np.searchsorted(bucket, after)).tolist()
        self._terms += len(documents)
        self._postings = int(ends[-1]) if len(ends) else self._postings

    def finish(self) -> None:
        """Sort the buckets, and write the arrays of ``Impacts``."""
        files = self._files
        files.append("postings.row", np.zeros(0, np.int32))
        files.append("postings.impact", np.zeros(0, np.float32))
        for number, (first, last) in enumerate(pairwise([0, *self._first_terms, self._terms])):
            highest = np.zeros(last - first, np.float32)
            if first < last:
                found = files.read(f"postings-{number}")
                files.forget(f"postings-{number}")
                order = found["term"].argsort(kind="stable")  # parts come in the order of their rows
                term, impact = found["term"].take(order), found["impact"].take(order)
                files.append("postings.row", found["row"].take(order))
                files.append("postings.impact", impact)
                at = first_flags(term).nonzero()[0]
                highest[term.take(at) - first] = np.maximum.reduceat(impact, at)
            files.append("postings.highest", highest)
