"""Describe the candidates of one question by their own match with it, as arrays over the candidates."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, compiled
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.retrieval.bridge.question import Terms


class Corpus(NamedTuple):
    """The arrays of a ``MentionGraph`` that compiled code reads, under the same names.

    A named tuple, because numba cannot read a dataclass.
    """

    idf: Floats
    words: Array
    word_sentence: Array
    text_start: Ints
    sentence_start: Ints
    title_words: Array
    title_start: Ints
    title_weight: Floats
    proper_words: Array
    proper_start: Ints
    group: Array
    rarity: Floats
    mean_length: float
    """Mean number of content words per text, at least 1."""
    rareness: Floats
    """For each term: (idf / highest idf)^2, 0-1."""

    @classmethod
    def of(cls, graph: MentionGraph) -> Corpus:
        arrays = {name: getattr(graph, name) for name in cls._fields if hasattr(graph, name)}
        mean_length = max(1.0, len(graph.words) / max(1, len(graph.group)))
        rareness = ((graph.idf / graph.unseen_idf) ** 2).astype(np.float32)
        return cls(mean_length=mean_length, rareness=rareness, **arrays)


class Scratch(threading.local):
    """Work arrays of the size of the corpus, one set per thread. Every use restores the initial values."""

    def __init__(self, graph: MentionGraph) -> None:
        self.of_term: Array = np.full(len(graph.idf) + 1, -1, np.int16)  # small, to stay in the processor's cache
        self.of_row: Ints = np.full(len(graph.group), -1, np.int64)
        self.sets: Ints = np.zeros(len(graph.idf) + 1, np.int64)
        """For each term, a bit set of the documents (62 at most) that have it."""
        self.total: Floats = np.zeros(len(graph.group), np.float32)


class Candidates(NamedTuple):
    """C candidate documents with S sentences in total, matched with the T terms of a question."""

    rows: Ints
    """Row of each candidate in the corpus, shape (C,)."""
    has: Floats
    """Shape (C, T): 1 where the text or the title has the term."""
    in_title: Floats
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


@compiled
def gathered(found: Ints, scores: Floats, nearest: Ints, named: Ints, of_row: Ints) -> tuple[Ints, Floats, int]:
    """Merge the documents found by BM25, near by vector, and named in the question.

    Returns:
        (distinct rows, in this order; BM25 score of each, 0 if BM25 did not find it; number of rows found or near).
    """
    rows = np.empty(len(found) + len(nearest) + len(named), np.int64)
    bm25 = np.zeros(len(rows), np.float32)
    count, retrieved = 0, 0
    for source in range(3):
        more = found if source == 0 else nearest if source == 1 else named
        for i in range(len(more)):
            if of_row[more[i]] < 0:
                of_row[more[i]] = count
                rows[count] = more[i]
                if source == 0:
                    bm25[count] = scores[i]
                count += 1
        if source == 1:
            retrieved = count
    for i in range(count):
        of_row[rows[i]] = -1
    return rows[:count], bm25[:count], retrieved


@compiled
def describe(corpus: Corpus, terms: Terms, rows: Ints, of_term: Array) -> Candidates:
    """Match documents with the terms of a question."""
    count, size = len(rows), len(terms.idf)
    first_sentence = np.empty(count, np.int64)
    sentences = 0
    for i in range(count):
        first_sentence[i] = sentences
        sentences += corpus.sentence_start[rows[i] + 1] - corpus.sentence_start[rows[i]]
    has = np.zeros((count, size), np.float32)
    in_title = np.zeros((count, size), np.float32)
    in_sentence = np.zeros((sentences, size), np.float32)
    body_score = np.zeros(count, np.float32)
    title_score = np.zeros(count, np.float32)
    sentence_cover = np.zeros(count, np.float32)
    pair_cover = np.zeros(count, np.float32)
    frequency = np.empty(size, np.float32)
    paired = np.empty(len(terms.pair_weight), np.bool_)
    for k in range(len(terms.numbers)):
        of_term[terms.numbers[k]] = terms.slots[k]
    for i in range(count):
        row = rows[i]
        frequency[:] = 0
        paired[:] = False
        shift = first_sentence[i] - corpus.sentence_start[row]
        before = -1
        for at in range(corpus.text_start[row], corpus.text_start[row + 1]):
            slot = of_term[corpus.words[at]]
            if slot >= 0:
                frequency[slot] += 1
                in_sentence[corpus.word_sentence[at] + shift, slot] = 1
                if before >= 0:
                    _mark_pair(terms, paired, before, slot)
            before = slot
        before = -1
        for at in range(corpus.title_start[row], corpus.title_start[row + 1]):
            slot = of_term[corpus.title_words[at]]
            if slot >= 0:
                in_title[i, slot] = 1
                if before >= 0:
                    _mark_pair(terms, paired, before, slot)
            before = slot
        for pair in range(len(paired)):
            if paired[pair]:
                pair_cover[i] += terms.pair_weight[pair]
        length = corpus.text_start[row + 1] - corpus.text_start[row]
        norm = 1.2 * (0.25 + 0.75 * length / corpus.mean_length)
        in_titles = 0.0
        for slot in range(size):
            in_titles += in_title[i, slot] * terms.idf[slot]
            if frequency[slot] > 0:
                body_score[i] += frequency[slot] / (frequency[slot] + norm) * 2.2 * terms.idf[slot]
            if frequency[slot] > 0 or in_title[i, slot] > 0:
                has[i, slot] = 1
        title_length = corpus.title_start[row + 1] - corpus.title_start[row]
        title_score[i] = 2 * in_titles / (1 + 0.25 * title_length)
        last = corpus.sentence_start[row + 1] + shift
        for sentence in range(first_sentence[i], last):
            covered = 0.0
            for slot in range(size):
                if in_title[i, slot] > 0:
                    in_sentence[sentence, slot] = 1
                covered += in_sentence[sentence, slot] * terms.idf[slot]
            sentence_cover[i] = max(sentence_cover[i], covered / terms.total)
    for k in range(len(terms.numbers)):
        of_term[terms.numbers[k]] = -1
    return Candidates(
        rows, has, in_title, in_sentence, first_sentence, body_score, title_score, sentence_cover, pair_cover
    )


@compiled
def joined(one: Candidates, other: Candidates) -> Candidates:
    """Concatenate two disjoint sets of candidates."""
    return Candidates(
        np.concatenate((one.rows, other.rows)),
        np.concatenate((one.has, other.has)),
        np.concatenate((one.in_title, other.in_title)),
        np.concatenate((one.in_sentence, other.in_sentence)),
        np.concatenate((one.first_sentence, other.first_sentence + len(one.in_sentence))),
        np.concatenate((one.body_score, other.body_score)),
        np.concatenate((one.title_score, other.title_score)),
        np.concatenate((one.sentence_cover, other.sentence_cover)),
        np.concatenate((one.pair_cover, other.pair_cover)),
    )


@compiled
def _mark_pair(terms: Terms, paired: Array, first: int, second: int) -> None:
    for pair in range(terms.pair_start[first], terms.pair_start[first + 1]):
        if terms.pair_second[pair] == second:
            paired[pair] = True
