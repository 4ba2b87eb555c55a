"""The candidates of one question: what each has of it by itself, as arrays over the candidates."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, gather
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.retrieval.bridge.question import Question


class Scratch(threading.local):
    """Two arrays of the corpus' size that each thread reuses; all entries are -1 between two uses."""

    def __init__(self, graph: MentionGraph) -> None:
        self.of_term: Ints = np.full(len(graph.idf) + 1, -1, np.int64)
        self.of_row: Ints = np.full(len(graph.group), -1, np.int64)


@dataclass
class Candidates:
    """C documents with what they have of a question of T terms. Grows when the walk adds documents."""

    question: Question
    bm25: dict[int, float]
    """row -> score of the first search."""
    cosine: dict[int, float] | None
    """row -> cosine of the nearest vectors; None without vectors."""
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    has: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """C x T: 1 where text or title has the term."""
    in_title: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    in_sentence: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """S x T for all S sentences of the candidates; the title counts with every sentence."""
    first_sentence: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Row of ``in_sentence`` at which a candidate's sentences begin."""
    body_score: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    title_score: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    sentence_cover: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    pair_cover: Floats = field(default_factory=lambda: np.zeros(0, np.float32))

    @property
    def cover(self) -> Floats:
        """C: idf share of the question that a candidate has."""
        covered: Floats = self.has @ self.question.idf / self.question.total
        return covered


class Describer:
    """Fills in candidates from the arrays of a corpus."""

    def __init__(self, graph: MentionGraph) -> None:
        self.graph = graph
        self.scratch = Scratch(graph)
        self.text_length = np.diff(graph.text_start)
        self.title_length = np.diff(graph.title_start)
        self.mean_length = max(1.0, float(self.text_length.sum() / max(1, len(self.text_length))))

    def add(self, candidates: Candidates, rows: Ints) -> None:
        """Append documents that are no candidates yet, in the given order."""
        if not len(rows):
            return
        graph, question, of_term = self.graph, candidates.question, self.scratch.of_term
        count, size, idf = len(rows), question.size, question.idf
        of_term[question.terms] = question.slots
        at, owner = gather(graph.text_start[rows], graph.text_start[rows + 1])
        slot = of_term[graph.words[at]]
        title_at, title_owner = gather(graph.title_start[rows], graph.title_start[rows + 1])
        title_slot = of_term[graph.title_words[title_at]]
        of_term[question.terms] = -1

        hit, title_hit = np.flatnonzero(slot >= 0), np.flatnonzero(title_slot >= 0)
        frequency = np.bincount(owner[hit] * size + slot[hit], minlength=count * size).reshape(count, size)
        in_title = np.zeros((count, size), np.float32)
        in_title[title_owner[title_hit], title_slot[title_hit]] = 1

        paired = np.zeros((count, size * size), bool)
        for places, owners, slots in ((hit, owner, slot), (title_hit, title_owner, title_slot)):
            adjacent = np.flatnonzero((places[1:] == places[:-1] + 1) & (owners[places[1:]] == owners[places[:-1]]))
            first, second = places[adjacent], places[adjacent + 1]
            paired[owners[first], slots[first] * size + slots[second]] = True

        sentences = graph.sentence_start[rows + 1] - graph.sentence_start[rows]
        first_sentence = np.concatenate(([0], np.cumsum(sentences)[:-1]))
        in_sentence = np.zeros((int(sentences.sum()), size), np.float32)
        shift = graph.sentence_start[rows] - first_sentence
        in_sentence[graph.word_sentence[at[hit]] - shift[owner[hit]], slot[hit]] = 1
        in_sentence = np.maximum(in_sentence, in_title[np.repeat(np.arange(count), sentences)])

        # BM25 of the candidate's own text, k1 = 1.2 and b = 0.75, over the idf of this graph.
        norm = 1.2 * (0.25 + 0.75 * self.text_length[rows] / self.mean_length)
        body = (frequency / (frequency + norm[:, None]) * 2.2) @ idf
        title = 2 * (in_title @ idf) / (1 + 0.25 * self.title_length[rows])
        sentence_cover = np.maximum.reduceat(in_sentence @ idf, first_sentence) / question.total
        new: dict[str, Array] = {
            "rows": rows,
            "has": np.maximum(frequency > 0, in_title).astype(np.float32),
            "in_title": in_title,
            "in_sentence": in_sentence,
            "first_sentence": first_sentence + len(candidates.in_sentence),
            "body_score": body.astype(np.float32),
            "title_score": title.astype(np.float32),
            "sentence_cover": sentence_cover.astype(np.float32),
            "pair_cover": ((paired & question.pairs) @ question.pair_weight).astype(np.float32),
        }
        for name, values in new.items():
            known: Array = getattr(candidates, name)
            setattr(candidates, name, np.concatenate((known, values)) if len(known) else values)
