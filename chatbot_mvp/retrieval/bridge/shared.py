"""Compare documents with each other by the proper words and the words of titles that they share."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints, entries
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_COMMON_WORDS = 0.7


def shared_words(corpus: Corpus, terms: Terms, rows: Ints, others: Ints, sets: Array) -> Floats:
    """Measure the proper words that two documents share and the question lacks, shape (rows, others), 0-1.

    The value is x / (x + 0.7), where x is the sum of (idf / highest idf)^2 over these words; 0 for documents of equal
    titles. It links documents that share no mention.

    Args:
        others: rows of 8 documents at most.
        sets: work array ``small_sets`` of ``Scratch``.
    """
    return _as_share(corpus, _common(corpus, rows, others, len(others), terms, sets), rows, others)


def likeness(corpus: Corpus, terms: Terms, rows: Ints, sets: Array) -> tuple[Floats, Floats]:
    """Compare each two of P documents, 64 at most.

    Args:
        sets: work array ``sets`` of ``Scratch``.

    Returns:
        (``shared_words``, shape (P, P); idf-weighted Jaccard similarity of the titles' terms, shape (P, P), 0-1, 0 on
        the diagonal)
    """
    spans = np.concatenate((rows, rows + corpus.documents))
    common = _common(corpus, spans, spans, len(rows), terms, sets)
    words, titles = common[: len(rows)], common[len(rows) :]
    weight = corpus.title_weight.take(rows)
    alike: Floats = titles / np.maximum(weight[:, None] + weight - titles, np.float32(1e-6))
    np.fill_diagonal(alike, 0)
    return _as_share(corpus, words, rows, rows), alike


def _as_share(corpus: Corpus, common: Floats, rows: Ints, others: Ints) -> Floats:
    share = common.astype(np.float64)
    share /= share + _COMMON_WORDS
    share *= corpus.group.take(rows)[:, None] != corpus.group.take(others)
    return share.astype(np.float32)


def _common(corpus: Corpus, spans: Ints, others: Ints, documents: int, terms: Terms, sets: Array) -> Floats:
    """Sum the weights of the marks that documents have in common. Proper words of the question do not count.

    Args:
        spans, others: indices into ``Corpus.mark_start``.
        documents: number of distinct documents that ``others`` belongs to; its entry i belongs to document i modulo
            ``documents``.

    Returns:
        Shape (spans, documents).
    """
    other, at = entries(corpus.mark_start, others)
    of_others = corpus.marks.take(at)
    # A document has each mark once, so that adding its bit sets it.
    np.add.at(sets, of_others, (np.ones(1, sets.dtype) << np.arange(documents, dtype=sets.dtype)).take(other % documents))
    sets[terms.numbers] = 0
    if spans is others:
        span, of_spans = other, of_others
        holders = sets.take(of_spans)
        hit = (holders & (holders - 1)).nonzero()[0]  # a single holder is the document itself
    else:
        span, at = entries(corpus.mark_start, spans)
        of_spans = corpus.marks.take(at)
        holders = sets.take(of_spans)
        hit = holders.nonzero()[0]
    sets[of_others] = 0
    little_endian = holders.take(hit).astype(sets.dtype.newbyteorder("<"))
    bits = np.unpackbits(little_endian.view(np.uint8), bitorder="little")
    # Index in ``hit``, index of the document.
    held, document = np.divmod(bits.view(np.bool_).nonzero()[0], 8 * sets.itemsize)
    entry = hit.take(held)
    common = np.zeros(len(spans) * documents, np.float32)
    np.add.at(common, span.take(entry) * documents + document, corpus.mark_weight.take(of_spans.take(entry)))
    return common.reshape(len(spans), documents)
