"""Describe the candidates of one question by their own match with it, as arrays over the candidates."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints, distinct, entries, offsets
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
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
        self.total: Floats = np.zeros(corpus.documents, np.float32)


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
    """The H words of C candidates that are terms of their question: those of all titles, then those of all texts.

    All arrays have shape (H,).
    """

    span: Ints
    """Index of the title (0 to C - 1) or of the text plus C (C to 2 C - 1)."""
    order: Ints
    """Index of the word among all words of the candidates, so that successive words have successive numbers."""
    place: Ints
    """Index of the word in ``Corpus.words``."""
    slot: Ints
    """Index of the term among the terms of its question."""


def describe(corpus: Corpus, asked: Sequence[Terms], rows: Sequence[Ints], of_term: Array) -> list[Candidates]:
    """Match the documents of each question, at least one in all, with the terms of that question.

    Args:
        asked: terms of each question.
        rows: documents of each question.
        of_term: work array of ``Scratch``.
    """
    counts = np.array([len(of_one) for of_one in rows])
    bounds, all_rows = offsets(counts), np.concatenate(rows)
    count, size = len(all_rows), max(len(terms.idf) for terms in asked)
    question = np.arange(len(asked)).repeat(counts)
    hits = _hits(corpus, asked, all_rows, bounds, of_term)
    in_titles, in_texts = np.bincount(hits.span * size + hits.slot, minlength=2 * count * size).reshape(2, count, size)
    in_title, has = (in_titles > 0).astype(np.float64), ((in_titles + in_texts) > 0).astype(np.float64)
    in_sentence, first_sentence = _sentences(corpus, all_rows, in_title, hits)
    idf = np.zeros((len(asked), size))
    for terms, of_one in zip(asked, idf, strict=True):
        of_one[: len(terms.idf)] = terms.exact_idf
    norm = corpus.body_norm.take(all_rows)[:, None]
    body_score = np.zeros(count, np.float32)
    for part in (in_texts / (in_texts + norm) * 2.2 * idf.take(question, axis=0)).T:
        np.add(body_score, part, out=body_score, casting="same_kind")
    pair_cover = _pair_cover(asked, hits, question, size)
    described = []
    sentence_bounds = np.append(first_sentence, len(in_sentence)).take(bounds).tolist()
    for i, (terms, (begin, end), (first, last)) in enumerate(
        zip(asked, pairwise(bounds.tolist()), pairwise(sentence_bounds), strict=True)
    ):
        width, own = len(terms.idf), slice(begin, end)
        titles, sentences = in_title[own, :width], in_sentence[first:last, :width]
        covered = np.maximum.reduceat(sentences @ terms.exact_idf, first_sentence[own] - first)
        title_score = 2 * (titles @ terms.exact_idf) / corpus.title_norm.take(rows[i])
        described.append(
            Candidates(
                rows=rows[i],
                has=has[own, :width],
                in_title=titles,
                in_sentence=sentences,
                first_sentence=first_sentence[own] - first,
                body_score=body_score[own],
                title_score=title_score.astype(np.float32),
                sentence_cover=(covered / terms.total).astype(np.float32),
                pair_cover=pair_cover[own],
            )
        )
    return described


def joined(one: Candidates, other: Candidates) -> Candidates:
    """Concatenate two disjoint sets of candidates."""
    moved = other._replace(first_sentence=other.first_sentence + len(one.in_sentence))
    arrays: list[tuple[Array, Array]] = list(zip(one, moved, strict=True))
    return Candidates(*map(np.concatenate, arrays))


def _hits(corpus: Corpus, asked: Sequence[Terms], rows: Ints, bounds: Ints, of_term: Array) -> _Hits:
    """Find the words that are terms of their question.

    Args:
        rows: documents of all questions, shape (C,).
        bounds: offset of each question in ``rows``, and the total.
    """
    span, place = entries(corpus.start, np.concatenate((rows + corpus.documents, rows)))
    slot = corpus.words.take(place)
    begins = span.searchsorted(np.concatenate((bounds, bounds + len(rows)))).tolist()
    title_bounds, text_bounds = begins[: len(bounds)], begins[len(bounds) :]
    for i, terms in enumerate(asked):
        of_term[terms.numbers] = terms.slots
        for bound in (title_bounds, text_bounds):
            own = slot[bound[i] : bound[i + 1]]
            own[:] = of_term.take(own)
        of_term[terms.numbers] = -1
    order = (slot >= 0).nonzero()[0]
    return _Hits(span.take(order), order, place.take(order), slot.take(order).astype(np.int64))


def _sentences(corpus: Corpus, rows: Ints, in_title: Doubles, hits: _Hits) -> tuple[Floats, Ints]:
    """Return ``in_sentence`` and ``first_sentence`` of ``Candidates``."""
    begin = corpus.sentence_start.take(rows)
    count = corpus.sentence_start.take(rows + 1) - begin
    first = count.cumsum() - count
    in_sentence = in_title.astype(np.float32).repeat(count, axis=0)
    in_titles = int(hits.span.searchsorted(len(rows)))
    candidate = hits.span[in_titles:] - len(rows)
    word = hits.place[in_titles:] - (REACH * (rows + 1)).take(candidate)
    sentence = corpus.word_sentence.take(word)
    in_sentence[sentence + (first - begin).take(candidate), hits.slot[in_titles:]] = 1
    return in_sentence, first


def _pair_cover(asked: Sequence[Terms], hits: _Hits, question: Ints, size: int) -> Floats:
    """Return ``pair_cover`` of ``Candidates``.

    Args:
        question: index in ``asked`` of each candidate's question, shape (C,).
        size: highest number of terms of a question.
    """
    cover = np.zeros(len(question), np.float32)
    keys = np.concatenate([i * size**2 + terms.pair_first * size + terms.pair_second for i, terms in enumerate(asked)])
    if not len(keys):
        return cover
    # A word follows the one before in the same title or text if one number grows by 1 and the other one stays.
    step = hits.order + hits.span
    first = (step[1:] - step[:-1] == 1).nonzero()[0]
    candidate = hits.span.take(first) % len(question)
    key = question.take(candidate) * size**2 + hits.slot.take(first) * size + hits.slot.take(first + 1)
    pair = keys.searchsorted(key)
    is_pair = (keys.take(pair, mode="clip") == key).nonzero()[0]
    found, _ = distinct(candidate.take(is_pair) * len(keys) + pair.take(is_pair))
    weight = np.concatenate([terms.pair_weight for terms in asked])
    np.add.at(cover, found // len(keys), weight.take(found % len(keys)))
    return cover
