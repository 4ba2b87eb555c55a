"""Compare documents with each other by the terms that they share."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, entries
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_COMMON_WORDS = 0.7
_BIT = np.int64(1) << np.arange(62, dtype=np.int64)


def shared_words(corpus: Corpus, terms: Terms, rows: Ints, others: Ints, sets: Ints) -> Floats:
    """Measure the proper words that two documents share and the question lacks, shape (rows, others), 0-1.

    The value is x / (x + 0.7), where x is the sum of (idf / highest idf)^2 over these words; 0 for documents of equal
    titles. It links documents that share no mention.

    Args:
        others: rows of 62 documents at most.
        sets: work array of ``Scratch``.
    """
    shared = _common(corpus.proper_words, corpus.proper_start, corpus.rareness, rows, others, terms.numbers, sets)
    exact = shared.astype(np.float64)
    exact /= exact + _COMMON_WORDS
    exact *= corpus.group.take(rows)[:, None] != corpus.group.take(others)
    return exact.astype(np.float32)


def title_likeness(corpus: Corpus, rows: Ints, sets: Ints) -> Floats:
    """Return the idf-weighted Jaccard similarity of the titles' terms, shape (P, P), 0-1; 0 on the diagonal.

    Args:
        rows: rows of 62 documents at most, shape (P,).
        sets: work array of ``Scratch``.
    """
    common = _common(corpus.title_terms, corpus.title_terms_start, corpus.idf, rows, rows, None, sets)
    weight = corpus.title_weight.take(rows)
    likeness: Floats = common / np.maximum(weight[:, None] + weight - common, np.float32(1e-6))
    np.fill_diagonal(likeness, 0)
    return likeness


def _common(
    terms: Array, start: Ints, weight: Floats, rows: Ints, others: Ints, ignored: Ints | None, sets: Ints
) -> Floats:
    """Sum the weights of the terms that two documents have in common, shape (rows, others).

    Args:
        terms, start: the distinct terms of each document, document after document, and the documents' offsets.
        weight: weight of each term.
        ignored: terms that do not count.
        sets: work array of ``Scratch``.
    """
    other, at = entries(start, others)
    of_others = terms.take(at)
    # The terms of a document are distinct, so each bit is added once.
    np.add.at(sets, of_others, _BIT.take(other))
    if ignored is not None:
        sets[ignored] = 0
    row, of_rows = other, of_others
    if rows is not others:
        row, at = entries(start, rows)
        of_rows = terms.take(at)
    holders = sets.take(of_rows)
    sets[of_others] = 0
    # Where both sides are the same documents, a single holder is the document itself.
    hit = (holders if rows is not others else holders & (holders - 1)).nonzero()[0]
    bits = np.unpackbits(holders.take(hit).astype("<i8").view(np.uint8), bitorder="little")
    pair = bits.view(np.bool_).nonzero()[0]
    entry = hit.take(pair >> 6)
    common = np.zeros(len(rows) * len(others), np.float32)
    np.add.at(common, row.take(entry) * len(others) + (pair & 63), weight.take(of_rows.take(entry)))
    return common.reshape(len(rows), len(others))
