"""The walk's first search: BM25 over title and text, with each term's score in each document computed at build time.

A term's score is the higher of its title score (doubled) and its text score, plus 0.3 of the lower one (disjunction
max). Terms and documents have the numbers of the mention graph, so a search only adds precomputed numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, best_first, compiled, distinct, offsets

_K1, _B = 1.2, 0.75
_TITLE_BOOST = 2.0
_OTHER_FIELD = 0.3
_BUCKETS = 256


class Postings(NamedTuple):
    """The documents of each term and its score there: entries ``start[t]:start[t + 1]`` belong to term t."""

    start: Ints
    row: Array
    """Row of the document."""
    impact: Floats
    """Score of the term in the document, above 0."""


def build_postings(words: Array, text_start: Ints, title_words: Array, title_start: Ints, terms: int) -> Postings:
    """Compute the score of every term in every document that has it.

    Args:
        words, title_words: term number of each content word, document after document.
        text_start, title_start: offset of each document's words, and the total.
        terms: number of terms in the vocabulary.
    """
    count = len(text_start) - 1
    title_length = np.diff(title_start)
    length = np.diff(text_start) + title_length  # the title counts as part of the text, as in the other indexes
    title_key = title_words.astype(np.int64) * count + np.repeat(np.arange(count), title_length)
    text_key = words.astype(np.int64) * count + np.repeat(np.arange(count), np.diff(text_start))
    keys, frequency = distinct(np.concatenate((text_key, title_key)))
    title_keys, title_frequency = distinct(title_key)
    term, row = keys // max(1, count), keys % max(1, count)
    in_title = np.zeros(len(keys))
    in_title[np.searchsorted(keys, title_keys)] = title_frequency
    holders = np.bincount(term, minlength=terms)
    text = _bm25(frequency, length[row], length, holders[term])
    title = _TITLE_BOOST * _bm25(
        in_title, title_length[row], title_length, np.bincount(term, in_title > 0, terms)[term]
    )
    impact = np.maximum(text, title) + _OTHER_FIELD * np.minimum(text, title)
    return Postings(offsets(holders), row.astype(np.int32), impact.astype(np.float32))


def _bm25(frequency: Array, length: Array, lengths: Array, holders: Array) -> Array:
    """BM25 (Robertson & Zaragoza 2009) with idf = ln(1 + (N - n + 0.5) / (n + 0.5))."""
    idf = np.log(1 + (len(lengths) - holders + 0.5) / (holders + 0.5))
    norm = _K1 * (1 - _B + _B * length / max(float(lengths.mean()) if len(lengths) else 0.0, 1e-9))
    score: Array = idf * frequency * (_K1 + 1) / (frequency + norm)
    return score


@compiled
def search(postings: Postings, terms: Ints, limit: int, total: Floats) -> tuple[Ints, Floats]:
    """Return (rows, scores) of the best ``limit`` documents, best first, ties by row.

    Args:
        terms: numbers of the question's distinct terms.
        total: work array of zeros, one per document; zero again when the search returns.
    """
    touched = np.empty(max(1, _count(postings, terms)), np.int64)
    found = 0
    for term in terms:
        for at in range(postings.start[term], postings.start[term + 1]):
            row = postings.row[at]
            if total[row] == 0:
                touched[found] = row
                found += 1
            total[row] += postings.impact[at]
    candidates = touched[:found]
    scores = np.empty(found, np.float32)
    for i in range(found):
        scores[i] = total[candidates[i]]
        total[candidates[i]] = 0
    if found > limit:
        # Dropping low buckets first is faster than sorting all; the last bucket is kept whole and sorted below.
        keep = _buckets(scores, limit)
        candidates, scores = candidates[keep], scores[keep]
    by_row = best_first(-candidates.astype(np.float32))  # exact up to 2^24 documents
    candidates, scores = candidates[by_row], scores[by_row]
    order = best_first(scores)[:limit]
    return candidates[order], scores[order]


@compiled
def _buckets(scores: Floats, limit: int) -> Ints:
    """Return positions that include the ``limit`` highest scores, and a few more."""
    top = np.float32(0)
    for score in scores:
        top = max(top, score)
    scale = (_BUCKETS - 1) / top
    counts = np.zeros(_BUCKETS, np.int64)
    for score in scores:
        counts[int(score * scale)] += 1
    lowest, kept = _BUCKETS - 1, counts[_BUCKETS - 1]
    while kept < limit:
        lowest -= 1
        kept += counts[lowest]
    positions = np.empty(kept, np.int64)
    at = 0
    for i in range(len(scores)):
        if int(scores[i] * scale) >= lowest:
            positions[at] = i
            at += 1
    return positions


@compiled
def _count(postings: Postings, terms: Ints) -> int:
    count = 0
    for term in terms:
        count += postings.start[term + 1] - postings.start[term]
    return count
