"""The walk's first search: BM25 over title and text, with each term's score in each document computed at build time.

A term's score is the higher of its title score (doubled) and its text score, plus 0.3 of the lower one (disjunction
max). Terms and documents have the numbers of the mention graph, so a search only adds precomputed numbers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, first_flags, offsets
from chatbot_mvp.retrieval.bm25 import bm25, idfs, length_norm
from chatbot_mvp.retrieval.bridge.terms import PartTerms
from chatbot_mvp.storage.arrays import ArrayFiles

_TITLE_BOOST = 2.0
_OTHER_FIELD = 0.3
_BUCKET = 4_000_000
"""Number of postings that are sorted together."""
_POSTING = np.dtype([("term", "<i4"), ("row", "<i4"), ("impact", "<f4")])


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
