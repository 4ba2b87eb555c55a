"""Compare documents with each other by the proper words and the words of titles that they share."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Floats, Ints, entries
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_COMMON_WORDS = 0.7
_BIT = np.uint64(1) << np.arange(64, dtype=np.uint64)
_TINY = np.float32(1e-6)


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
    size = len(rows)
    spans = np.concatenate((rows, rows + corpus.documents))
    common = _common(corpus, spans, spans, size, terms, sets)
    words, titles = common[:size], common[size:]
    weight = corpus.title_weight.take(rows)
    alike: Floats = titles / np.maximum(weight[:, None] + weight - titles, _TINY)
    alike.reshape(-1)[:: size + 1] = 0
    return _as_share(corpus, words, rows, rows), alike


def _as_share(corpus: Corpus, common: Floats, rows: Ints, others: Ints) -> Floats:
    """Scale sums of ``_common`` to 0-1, with 0 for documents of equal titles."""
    exact = common.astype(np.float64)
    differ = corpus.group.take(rows)[:, None] != corpus.group.take(others)
    share: Floats = np.where(differ, exact / (exact + _COMMON_WORDS), 0).astype(np.float32)
    return share


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
    bit = _BIT.astype(sets.dtype)[np.arange(len(others)) % documents]
    np.add.at(sets, of_others, bit.take(other))
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
    held = bits.view(np.bool_).nonzero()[0].reshape(-1)
    width = 8 * sets.itemsize  # a power of two
    entry, document = hit.take(held >> (width.bit_length() - 1)), held & (width - 1)
    common = np.zeros(len(spans) * documents, np.float32)
    np.add.at(common, span.take(entry) * documents + document, corpus.mark_weight.take(of_spans.take(entry)))
    return common.reshape(len(spans), documents)
