"""The walk's first search: BM25 over title and text, with each term's score in each document computed at build time.

A term's score is the higher of its title score (doubled) and its text score, plus 0.3 of the lower one (disjunction
max). Terms and documents have the numbers of the mention graph, so a search only adds precomputed numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, distinct, offsets

_K1, _B = 1.2, 0.75
_TITLE_BOOST = 2.0
_OTHER_FIELD = 0.3
_ABOVE_ZERO = np.finfo(np.float32).smallest_subnormal
_BLOCKS = 512
"""The search finds a lower bound of its last score among this many blocks of documents."""


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


def work_space(documents: int) -> Floats:
    """Return the work array of ``search``: zeros, at least one per document, shape (height, blocks)."""
    height = max(1, documents // _BLOCKS)
    return np.zeros((height, -(-documents // height)), np.float32)


def search(postings: Postings, terms: Ints, limit: int, total: Floats) -> tuple[Ints, Floats]:
    """Return (rows, scores) of the best ``limit`` documents, best first, ties by row.

    Args:
        terms: numbers of the question's distinct terms.
        total: array of ``work_space``; all zeros again when the search returns.
    """
    if not len(terms):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    spans = list(zip(postings.start.take(terms).tolist(), postings.start.take(terms + 1).tolist(), strict=True))
    found = np.concatenate([postings.row[begin:end] for begin, end in spans])
    np.add.at(total.reshape(-1), found, np.concatenate([postings.impact[begin:end] for begin, end in spans]))
    # Each column is a block of documents. If ``limit`` blocks reach a score, so do the best ``limit`` documents.
    highest = np.maximum.reduce(total, 0)
    least = _ABOVE_ZERO
    if limit < len(highest):
        least = max(least, np.partition(highest, -limit)[-limit])
    blocks = (highest >= least).nonzero()[0]
    reached = total.take(blocks, axis=1)
    at = (reached >= least).reshape(-1).nonzero()[0]
    rows = at // len(blocks) * total.shape[1] + blocks.take(at % len(blocks))
    scores = reached.take(at)
    total.fill(0)
    order = np.lexsort((rows, -scores))[:limit]
    return rows[order], scores[order]
