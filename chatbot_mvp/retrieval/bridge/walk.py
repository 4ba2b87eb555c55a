"""The walk over mentions: a hand-set first score, expansion along links, a learned linear score, and a greedy choice.

The numeric work is in ``candidates``, ``features``, ``links`` and ``choice``; this module calls them in order. The
arrays of a question are so small that most of the time goes into calling NumPy. So functions make few calls, and the
description of the documents and the greedy choice serve all questions of a batch together.
The learned weights are in ``weights.json``, which ``benchmarks/fit_bridge.py`` writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Scratch, describe, joined
from chatbot_mvp.retrieval.bridge.choice import STEP_FEATURES, choose, compare
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.features import (
    COSINE_SCALED,
    FEATURES,
    FORWARD_NEW,
    HAND,
    HOP,
    NAMED_IDF,
    SUPPORT,
    WORD_HOP,
    all_features,
    first_look,
)
from chatbot_mvp.retrieval.bridge.links import Mentions
from chatbot_mvp.retrieval.bridge.question import Named, Terms, read_questions
from chatbot_mvp.retrieval.postings import search
from chatbot_mvp.text import Analyzer

PATH = Path(__file__).with_name("weights.json")
LEXICAL_CANDIDATES = 80
VECTOR_CANDIDATES = 60
_BATCH = 32
"""Number of questions ranked together, which bounds the memory."""

Cosine = Callable[[Ints], Floats]
"""Maps rows of the corpus to their cosines with the question."""

_NONE = np.zeros(0, np.float32)
_NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Weights:
    """Weights of the unscaled features. There is no intercept, because it would not change the order."""

    linear: dict[str, float]
    """Name of a feature -> weight."""
    step: dict[str, float]
    """Name of a step feature -> weight."""
    first: Weights | None = None
    """Weights of the first round; None if there is only one round."""


@cache
def load_weights(name: str) -> Weights:
    """Load the weights under a name: "BRIDGE" (without features of vectors) or "BRIDGE_HYBRID" (with them)."""
    entry = json.loads(PATH.read_text("utf-8"))[name]
    first = entry.get("first")
    return Weights(entry["linear"], entry["step"], first and Weights(first["linear"], first["step"]))


@cache
def weights_key() -> str:
    """Return a hash of the weights file, part of the pipeline's fingerprint."""
    return hashlib.sha256(PATH.read_bytes()).hexdigest()[:12]


class Hops(NamedTuple):
    """The results of the second queries of a question (see ``second``). Each belongs to one of Q documents."""

    parents: Ints
    """Row of the document of each query, shape (Q,)."""
    prior: Floats
    """Score of each of these documents relative to the best candidate, 0-1, shape (Q,)."""
    nearness: Callable[[Ints], Floats]
    """Maps rows of the corpus to their nearness to each query, 0-1, shape (Q, rows)."""


class Question(NamedTuple):
    """A question to rank documents for."""

    text: str
    nearest: Ints = _NOBODY
    """Rows of the nearest vectors, best first; empty without vectors."""
    cosine: Cosine | None = None
    """None without vectors."""
    hops: Hops | None = None
    """Results of second queries by vectors; None without such queries."""
    word_hops: Hops | None = None
    """Results of second queries by words; None without such queries."""


@dataclass(frozen=True)
class Ranking:
    """The best candidates of a question, best first."""

    rows: Ints
    relative: Floats
    """Score relative to the best, 0-1, never rising: exp(score - best score)."""
    signals: dict[str, Floats]
    """Signal name -> value for each of ``rows``."""
    found: tuple[Ints, Floats]
    """(rows, scores) of the BM25 search, best first."""
    candidates: int
    """Number of candidates that were ranked."""
    added: int
    """Number of candidates that names or links added to those of BM25 and vectors."""


@dataclass(frozen=True)
class Prepared:
    """Candidates and features of a question, before any learned weight is applied."""

    terms: Terms
    candidates: Candidates
    mentions: Mentions
    hops: Sequence[tuple[Ints, Floats]]
    """By vectors, then by words: positions of the Q candidates with a second query, and the nearness of each candidate
    to each of these queries, shape (Q, candidates)."""
    features: Floats
    """Shape (FEATURES, candidates)."""
    bm25: Floats
    """BM25 score of each candidate; 0 if the BM25 search did not find it."""
    found: tuple[Ints, Floats]
    """(rows, scores) of the BM25 search, best first."""
    added: int
    """Number of candidates that names or links added to those of BM25 and vectors."""
    vectors: bool
    """Whether cosines are among the features."""


class _Found(NamedTuple):
    """What the first search finds for a question."""

    question: Question
    terms: Terms
    named: Named
    place: dict[int, int]
    """Row -> position of the documents found by BM25, near by vector, and named in the question, in this order."""
    lexical: tuple[Ints, Floats]
    """(rows, scores) of the BM25 search, best first."""
    retrieved: int
    """Number of documents in ``place`` that BM25 or vectors found."""

    @property
    def rows(self) -> Ints:
        return np.fromiter(self.place, np.int64, len(self.place))

    def bm25(self, count: int) -> Floats:
        """Return the BM25 scores of the first ``count`` candidates; BM25 found the first ones of them."""
        scores = np.zeros(count, np.float32)
        scores[: len(self.lexical[1])] = self.lexical[1]
        return scores

    def cosines(self, rows: Ints) -> Floats:
        return _NONE if self.question.cosine is None or not len(rows) else self.question.cosine(rows)


class BridgeWalk:
    """Ranks documents over one corpus. Safe to share between threads.

    Args:
        weights: learned weights; None to rank by the hand-set score alone.
    """

    def __init__(self, corpus: Corpus, analyzer: Analyzer, weights: Weights | None) -> None:
        self._analyzer = analyzer
        self._corpus = corpus
        self._scratch = Scratch(self._corpus)
        self._weights = None if weights is None else _vectors_of(weights)
        self._first_weights = None if weights is None else _vectors_of(weights.first or weights)

    def rank(self, questions: Sequence[Question], limit: int, first_round: bool = False) -> list[Ranking]:
        """Rank the documents found for each question and the documents linked to them.

        A ranking does not depend on the other questions.

        Args:
            limit: number of documents returned at most.
            first_round: use the weights of the first round, which were fitted without second queries.
        """
        weights = self._first_weights if first_round else self._weights
        batches = [questions[begin : begin + _BATCH] for begin in range(0, len(questions), _BATCH)]
        return [ranking for batch in batches for ranking in self._rank(batch, limit, weights)]

    def prepare(self, questions: Sequence[Question]) -> list[Prepared | None]:
        """Compute candidates and features of each question; None if a question has no candidates."""
        corpus, of_term = self._corpus, self._scratch.of_term
        read = read_questions([question.text for question in questions], corpus, self._analyzer)
        started = [self._find(question, *one) for question, one in zip(questions, read, strict=True)]
        found = [f for f in started if f.place]
        if not found:
            return [None] * len(questions)
        terms = [f.terms for f in found]
        first = describe(corpus, terms, [f.rows for f in found], of_term)
        cosines = [f.cosines(c.rows) for f, c in zip(found, first, strict=True)]
        linked = [
            first_look(corpus, f.terms, f.named, c, f.place, f.bm25(len(c.rows)), cosine)
            for f, c, cosine in zip(found, first, cosines, strict=True)
        ]
        prepared = iter(
            [
                self._prepared(*one)
                for one in zip(found, first, describe(corpus, terms, linked, of_term), cosines, strict=True)
            ]
        )
        return [next(prepared) if f.place else None for f in started]

    def search_words(self, stems: Sequence[str], limit: int) -> tuple[Ints, Floats]:
        """Return (rows, scores) of a BM25 search for terms, best first."""
        numbers = sorted({self._corpus.vocabulary.number(stem) for stem in stems} - {-1})
        return search(self._corpus.postings, np.array(numbers, np.int64), limit, self._scratch.total)

    def choose(self, prepared: Sequence[Prepared], scores: Sequence[Floats], step: Floats) -> list[tuple[Ints, Floats]]:
        """Order the candidates of each question by ``choice.choose``."""
        corpus, sets = self._corpus, self._scratch.sets
        compared = [
            compare(corpus, p.terms, p.candidates, p.mentions, score, p.hops, sets)
            for p, score in zip(prepared, scores, strict=True)
        ]
        return choose(compared, step) if compared else []

    def _rank(self, questions: Sequence[Question], limit: int, weights: tuple[Floats, Floats] | None) -> list[Ranking]:
        prepared = self.prepare(questions)
        asked = [p for p in prepared if p is not None]
        if weights is None:
            scores = [p.features[HAND] for p in asked]
            orders = [best_first(score) for score in scores]
        else:
            linear, step = weights
            scores = [linear @ p.features for p in asked]
            orders = [order for order, _ in self.choose(asked, scores, step)]
        ranked = iter([_ranking(*one, limit) for one in zip(asked, scores, orders, strict=True)])
        return [Ranking(_NOBODY, _NONE, {}, (_NOBODY, _NONE), 0, 0) if p is None else next(ranked) for p in prepared]

    def _find(self, question: Question, terms: Terms, named: Named) -> _Found:
        lexical = search(self._corpus.postings, terms.numbers, LEXICAL_CANDIDATES, self._scratch.total)
        place = {row: i for i, row in enumerate(lexical[0].tolist())}
        for row in question.nearest.tolist():
            place.setdefault(row, len(place))
        retrieved = len(place)
        for row in named.rows.tolist():
            place.setdefault(row, len(place))
        return _Found(question, terms, named, place, lexical, retrieved)

    def _prepared(self, found: _Found, first: Candidates, linked: Candidates, cosines: Floats) -> Prepared:
        c = first
        if len(linked.rows):
            c, cosines = joined(first, linked), np.concatenate((cosines, found.cosines(linked.rows)))
        bm25 = found.bm25(len(c.rows))
        mentions, features = all_features(
            self._corpus, found.terms, found.named, c, found.place, bm25, cosines, self._scratch
        )
        asked = found.question
        hops = [_hops(asked.hops, c.rows, features[HOP:]), _hops(asked.word_hops, c.rows, features[WORD_HOP:])]
        added = len(c.rows) - found.retrieved
        return Prepared(found.terms, c, mentions, hops, features, bm25, found.lexical, added, len(cosines) > 0)


def _hops(hops: Hops | None, rows: Ints, features: Floats) -> tuple[Ints, Floats]:
    """Compute one entry of ``Prepared.hops``, and set its two features, the first rows of ``features``."""
    if hops is None:
        return _NOBODY, np.zeros((0, len(rows)), np.float32)
    nearness = hops.nearness(rows)
    np.maximum.reduce(nearness * hops.prior[:, None], 0, out=features[0])
    np.maximum.reduce(nearness, 0, out=features[1])
    asking, parent = (rows[:, None] == hops.parents).nonzero()
    return asking, nearness.take(parent, axis=0)


def _ranking(p: Prepared, score: Floats, order: Ints, limit: int) -> Ranking:
    first = order[:limit]
    shown = p.features[:, first]
    signals = {
        "bm25_norm": p.bm25[first] / max(float(p.bm25.max()), 1e-6),
        "named": shown[NAMED_IDF],
        "link_bonus": shown[FORWARD_NEW] + shown[SUPPORT],
    }
    if p.vectors:
        signals["vector_norm"] = shown[COSINE_SCALED]
    # The greedy choice may rank a lower score first; the displayed value must still not rise along the ranking.
    relative = np.minimum.accumulate(np.exp(np.minimum(0.0, score[first] - score.max())))
    return Ranking(p.candidates.rows[first], relative, signals, p.found, len(order), p.added)


def vector_of(weights: Mapping[str, float], names: Sequence[str]) -> Floats:
    """Return weights as a vector in the order of ``names``, such as FEATURES or STEP_FEATURES; missing ones are 0."""
    return np.array([weights.get(name, 0.0) for name in names], np.float32)


def _vectors_of(weights: Weights) -> tuple[Floats, Floats]:
    return vector_of(weights.linear, FEATURES), vector_of(weights.step, STEP_FEATURES)
