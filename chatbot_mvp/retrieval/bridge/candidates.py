"""Describe the candidates of one question by their own match with it, as arrays over the candidates."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Doubles, Floats, Ints, entries
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
from chatbot_mvp.retrieval.bridge.postings import work_space
from chatbot_mvp.retrieval.bridge.question import Terms


class Scratch(threading.local):
    """Work arrays of the size of the corpus, one set per thread. Every use restores the initial values."""

    def __init__(self, corpus: Corpus) -> None:
        self.of_term: Array = np.full(len(corpus.idf) + 1, -1, np.int16)  # small, to stay in the processor's cache
        self.of_row: Ints = np.full(corpus.documents, -1, np.int64)
        self.sets: Array = np.zeros(len(corpus.mark_weight), np.uint64)
        """For each mark, a bit set of the documents (64 at most) that have it."""
        self.small_sets: Array = np.zeros(len(corpus.idf), np.uint8)
        """For each term, a bit set of the documents (8 at most) that have it as a proper word."""
        self.total: Floats = work_space(corpus.documents)


class Candidates(NamedTuple):
    """C candidate documents with S sentences in total, matched with the T terms of a question."""

    rows: Ints
    """Row of each candidate in the corpus, shape (C,)."""
    has: Doubles
    """Shape (C, T): 1 where the text or the title has the term."""
    in_title: Doubles
    """Shape (C, T): 1 where the title has the term."""
    in_sentence: Floats
    """Shape (S, T): 1 where the sentence or the document's title has the term."""
    first_sentence: Ints
    """Shape (C,): first row of each candidate in ``in_sentence``."""
    body_score: Floats
    """Shape (C,): BM25 of the text without its title, k1 = 1.2, b = 0.75, with the graph's idf."""
    title_score: Floats
    """Shape (C,): idf sum of the terms in the title, lower for longer titles."""
    sentence_cover: Floats
    """Shape (C,), 0-1: idf share of the question's terms in the candidate's best sentence."""
    pair_cover: Floats
    """Shape (C,), 0-1: weighted share of the question's neighbouring terms that are neighbours in the document."""


class _Hits(NamedTuple):
    """The H words of C candidates that are terms of the question: first those of all titles, then those of all texts.

    All arrays have shape (H,).
    """

    span: Ints
    """Index of the title (0 to C - 1) or of the text plus C (C to 2 C - 1)."""
    order: Ints
    """Index of the word among all words of the candidates, so that successive words have successive numbers."""
    place: Ints
    """Index of the word in ``Corpus.words``."""
    slot: Ints
    """Index of the term among the question's terms."""


def describe(corpus: Corpus, terms: Terms, rows: Ints, of_term: Array) -> Candidates:
    """Match documents, at least one, with the terms of a question.

    Args:
        of_term: work array of ``Scratch``.
    """
    count, size = len(rows), len(terms.idf)
    hits = _hits(corpus, terms, rows, of_term)
    titles, texts = np.bincount(hits.span * size + hits.slot, minlength=2 * count * size).reshape(2, count, size)
    in_title = (titles > 0).astype(np.float64)
    in_sentence, first_sentence = _sentences(corpus, rows, in_title, hits)
    return Candidates(
        rows=rows,
        has=((titles + texts) > 0).astype(np.float64),
        in_title=in_title,
        in_sentence=in_sentence,
        first_sentence=first_sentence,
        body_score=_body_score(texts, corpus.body_norm.take(rows), terms.exact_idf),
        title_score=(2 * (in_title @ terms.exact_idf) / corpus.title_norm.take(rows)).astype(np.float32),
        sentence_cover=(
            np.maximum.reduceat(in_sentence @ terms.exact_idf, first_sentence) / terms.total
        ).astype(np.float32),
        pair_cover=_pair_cover(terms, hits, count),
    )


def joined(one: Candidates, other: Candidates) -> Candidates:
    """Concatenate two disjoint sets of candidates."""
    moved = other._replace(first_sentence=other.first_sentence + len(one.in_sentence))
    return Candidates(*(np.concatenate(both) for both in zip(one, moved, strict=True)))


def _hits(corpus: Corpus, terms: Terms, rows: Ints, of_term: Array) -> _Hits:
    span, place = entries(corpus.start, np.concatenate((rows, rows + corpus.documents)))
    of_term[terms.numbers] = terms.slots
    slot = of_term.take(corpus.words.take(place))
    of_term[terms.numbers] = -1
    order = (slot >= 0).nonzero()[0]
    return _Hits(span.take(order), order, place.take(order), slot.take(order).astype(np.int64))


def _body_score(frequency: Ints, norm: Doubles, idf: Doubles) -> Floats:
    """BM25 of documents: frequencies (C, T), length norms (C,), idf (T,) -> (C,)."""
    score = np.zeros(len(frequency), np.float32)
    for part in (frequency / (frequency + norm[:, None]) * 2.2 * idf).T:
        np.add(score, part, out=score, casting="same_kind")
    return score


def _sentences(corpus: Corpus, rows: Ints, in_title: Doubles, hits: _Hits) -> tuple[Floats, Ints]:
    """Return ``in_sentence`` and ``first_sentence`` of ``Candidates``."""
    begin = corpus.sentence_start.take(rows)
    count = corpus.sentence_start.take(rows + 1) - begin
    first = count.cumsum() - count
    in_sentence = in_title.astype(np.float32).repeat(count, axis=0)
    in_titles = int(hits.span.searchsorted(len(rows)))
    candidate = hits.span[in_titles:] - len(rows)
    word = hits.place[in_titles:] - (REACH * (rows + 1) + corpus.title_words).take(candidate)
    sentence = corpus.word_sentence.take(word)
    in_sentence[sentence + (first - begin).take(candidate), hits.slot[in_titles:]] = 1
    return in_sentence, first


def _pair_cover(terms: Terms, hits: _Hits, count: int) -> Floats:
    cover = np.zeros(count, np.float32)
    if not len(terms.pair_key):
        return cover
    # A word follows the one before in the same title or text if one number grows by 1 and the other one stays.
    step = hits.order + hits.span
    first = (step[1:] - step[:-1] == 1).nonzero()[0]
    key = hits.slot.take(first) * len(terms.idf) + hits.slot.take(first + 1)
    pair = terms.pair_key.searchsorted(key)
    is_pair = (terms.pair_key.take(pair, mode="clip") == key).nonzero()[0]
    found = np.zeros((count, len(terms.pair_key)), bool)
    found[hits.span.take(first.take(is_pair)) % count, pair.take(is_pair)] = True
    candidate, pair = found.nonzero()
    np.add.at(cover, candidate, terms.pair_weight.take(pair))
    return cover
