"""The walk's first search: BM25 over title and text, with each term's score in each document computed at build time.

A term's score is the higher of its title score (doubled) and its text score, plus 0.3 of the lower one (disjunction
max). Terms and documents have the numbers of the mention graph, so a search only adds precomputed numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, offsets
from chatbot_mvp.retrieval.bridge.keys import first_flags
from chatbot_mvp.retrieval.bridge.terms import PartTerms
from chatbot_mvp.storage.arrays import ArrayFiles

_K1, _B = 1.2, 0.75
_TITLE_BOOST = 2.0
_OTHER_FIELD = 0.3
_BUCKET = 4_000_000
"""Number of postings that are sorted together."""
_POSTING = np.dtype([("term", "<i4"), ("row", "<i4"), ("impact", "<f4")])
_FEW = 50_000
"""Up to this number of postings, adding all of them up takes less time than choosing among them."""
_SLACK = 1.0001
"""Factor that covers the rounding of sums in single precision."""


class Postings(NamedTuple):
    """The documents of each term and its score there: entries ``start[t]:start[t + 1]`` belong to term t."""

    start: Ints
    row: Array
    """Row of the document."""
    impact: Floats
    """Score of the term in the document, above 0."""
    highest: Floats
    """Highest score of each term in a document."""


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
    """Computes the score of every term in every document that has it, part by part.

    Args:
        documents: number of documents of the corpus.
        words, title_words: number of content words of all texts and of all titles.
    """

    def __init__(self, files: ArrayFiles, documents: int, words: int, title_words: int) -> None:
        self._files = files
        self._documents = documents
        # The title counts as part of the text, as in the other indexes.
        self._means = [of / max(1, documents) for of in (words + title_words, title_words)]
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
        text = _bm25(
            _idf(self._documents, terms.documents).take(pairs.term),
            pairs.uses,
            (lengths + title_lengths).take(pairs.row),
            self._means[0],
        )
        title = _TITLE_BOOST * _bm25(
            _idf(self._documents, terms.titles).take(pairs.term),
            pairs.title,
            title_lengths.take(pairs.row),
            self._means[1],
        )
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
        """Sort the buckets, and write the arrays of ``Postings``."""
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


def _idf(documents: int, holders: Array) -> Array:
    idf: Array = np.log(1 + (documents - holders + 0.5) / (holders + 0.5))
    return idf


def _bm25(idf: Array, frequency: Array, length: Array, mean: float) -> Array:
    """BM25 (Robertson & Zaragoza 2009)."""
    norm = _K1 * (1 - _B + _B * length / max(mean, 1e-9))
    score: Array = idf * frequency * (_K1 + 1) / (frequency + norm)
    return score


def search(postings: Postings, terms: Ints, limit: int, total: Floats) -> tuple[Ints, Floats]:
    """Return (rows, scores) of the best ``limit`` documents, best first, ties by row.

    Args:
        terms: numbers of the question's distinct terms.
        total: work array with a zero for each document; all zeros again when the search returns.
    """
    if not len(terms):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    spans = list(zip(postings.start.take(terms).tolist(), postings.start.take(terms + 1).tolist(), strict=True))
    if sum(end - begin for begin, end in spans) <= _FEW:
        rows, scores = _all_sums(postings, spans, limit, total)
    else:
        rows = _possible(postings, terms, limit, total)
        scores = np.zeros(len(rows), np.float32)
        for term in terms.tolist():  # in the question's order, in which rounding is the same for every corpus
            scores += _impacts(postings, term, rows)
    order = np.lexsort((rows, -scores))
    best = order.compress(first_flags(rows.take(order)))[:limit]
    return rows.take(best).astype(np.int64), scores.take(best)


def _all_sums(postings: Postings, spans: Sequence[tuple[int, int]], limit: int, total: Floats) -> tuple[Array, Floats]:
    """Return (rows, sums) of the best documents and some more, by adding up all postings of some terms.

    A document is there once for each of its terms.
    """
    found = np.concatenate([postings.row[begin:end] for begin, end in spans])
    np.add.at(total, found, np.concatenate([postings.impact[begin:end] for begin, end in spans]))
    scores = total.take(found)
    total[found] = 0
    most = limit * len(spans)
    if most < len(scores):
        best = (scores >= np.partition(scores, -most)[-most]).nonzero()[0]
        found, scores = found.take(best), scores.take(best)
    return found, scores


def _possible(postings: Postings, terms: Ints, limit: int, total: Floats) -> Ints:
    """Return the rows, in rising order, of the best documents and some more, without reading all postings.

    MaxScore (Turtle & Flood 1995): the postings of rare terms are added up. As soon as the frequent terms left cannot
    lift a new document among the best ones, they are only looked up for the documents found so far.
    """
    count = postings.start.take(terms + 1) - postings.start.take(terms)
    by_rarity = terms.take(count.argsort(kind="stable")).tolist()
    left = float(postings.highest.take(terms).sum(dtype=np.float64)) * _SLACK
    found: list[Array] = []
    size, least = 0, 0.0
    while by_rarity:
        term = by_rarity[0]
        begin, end = int(postings.start[term]), int(postings.start[term + 1])
        if size >= limit and end - begin > _FEW // 10:
            least = float(np.partition(total.take(np.concatenate(found)), -limit)[-limit]) / _SLACK
            if left < least:
                break
        rows = postings.row[begin:end]
        found.append(rows[total.take(rows) == 0])
        size += len(found[-1])
        total[rows] += postings.impact[begin:end]
        left -= float(postings.highest[term]) * _SLACK
        by_rarity.pop(0)
    rows = np.sort(np.concatenate(found)).astype(np.int64)
    scores = total.take(rows)
    total[rows] = 0
    for term in by_rarity:
        kept = (scores + left >= least).nonzero()[0]
        rows, scores = rows.take(kept), scores.take(kept)
        scores += _impacts(postings, term, rows)
        left -= float(postings.highest[term]) * _SLACK
        least = max(least, float(np.partition(scores, -limit)[-limit]) / _SLACK)
    return rows.take((scores + left >= least).nonzero()[0])


def _impacts(postings: Postings, term: int, rows: Ints) -> Floats:
    """Return the score of a term in some documents, 0 where it does not occur. ``rows`` rise."""
    begin, end = int(postings.start[term]), int(postings.start[term + 1])
    of_term = postings.row[begin:end]
    at = of_term.searchsorted(rows.astype(np.int32))
    at[at == len(of_term)] = 0
    impacts: Floats = np.where(of_term.take(at) == rows, postings.impact[begin:end].take(at), np.float32(0))
    return impacts
