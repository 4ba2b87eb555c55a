"""The walk over mentions: a hand-set first score, expansion along links, a learned linear score, and a greedy choice.

The numeric work is in ``features``, ``links`` and ``choice``; this module calls them in order. A question takes a few
hundred NumPy calls on small arrays, so each function makes as few of them as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Scratch
from chatbot_mvp.retrieval.bridge.choice import STEP_FEATURES, choose
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.features import (
    COSINE_SCALED,
    FEATURES,
    FORWARD_NEW,
    HAND,
    NAMED_IDF,
    SUPPORT,
    all_features,
    first_look,
)
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.retrieval.bridge.links import Mentions
from chatbot_mvp.retrieval.bridge.postings import search
from chatbot_mvp.retrieval.bridge.question import Terms, read_question
from chatbot_mvp.retrieval.bridge.weights import Weights
from chatbot_mvp.text import Analyzer

LEXICAL_CANDIDATES = 80
VECTOR_CANDIDATES = 60

Cosine = Callable[[Ints], Floats]
"""Maps rows of the corpus to their cosines with the question."""

_NONE = np.zeros(0, np.float32)
_NOBODY = np.zeros(0, np.int64)


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
    features: Floats
    """Shape (FEATURES, candidates)."""
    bm25: Floats
    """BM25 score of each candidate; 0 if the BM25 search did not find it."""
    found: tuple[Ints, Floats]
    """(rows, scores) of the BM25 search, best first."""
    added: int
    """Number of candidates that names or links added to those of BM25 and vectors."""


class BridgeWalk:
    """Ranks documents over one corpus. Safe to share between threads.

    Args:
        weights: learned weights; None to rank by the hand-set score alone.
    """

    def __init__(self, graph: MentionGraph, analyzer: Analyzer, weights: Weights | None) -> None:
        self._graph = graph
        self._analyzer = analyzer
        self._corpus = Corpus.of(graph)
        self._scratch = Scratch(self._corpus)
        self._linear = None if weights is None else linear_weights(weights.linear)
        self._step = None if weights is None else step_weights(weights.step)

    def rank(self, text: str, nearest: Ints, cosine: Cosine | None, limit: int) -> Ranking:
        """Rank the documents found for a question and the documents linked to them.

        Args:
            text: the question.
            nearest: rows of the nearest vectors; empty without vectors.
            cosine: returns the cosines of given rows; None without vectors.
            limit: number of documents returned at most.
        """
        prepared = self.prepare(text, nearest, cosine)
        if prepared is None:
            return Ranking(_NOBODY, _NONE, {}, (_NOBODY, _NONE), 0, 0)
        features, bm25 = prepared.features, prepared.bm25
        if self._linear is None or self._step is None:
            score = features[HAND]
            order = best_first(score)
        else:
            score = self._linear @ features
            order, _ = self.choose(prepared, score, self._step)
        first = order[:limit]
        shown = features[:, first]
        signals = {
            "bm25_norm": bm25[first] / max(float(bm25.max()), 1e-6),
            "named": shown[NAMED_IDF],
            "link_bonus": shown[FORWARD_NEW] + shown[SUPPORT],
        }
        if cosine is not None:
            signals["vector_norm"] = shown[COSINE_SCALED]
        # The greedy choice may rank a lower score first; the displayed value must still not rise along the ranking.
        relative = np.minimum.accumulate(np.exp(np.minimum(0.0, score[first] - score.max())))
        return Ranking(prepared.candidates.rows[first], relative, signals, prepared.found, len(order), prepared.added)

    def prepare(self, text: str, nearest: Ints, cosine: Cosine | None) -> Prepared | None:
        """Compute candidates and features of a question; None if there are no candidates."""
        terms, named = read_question(text, self._graph, self._analyzer)
        corpus, scratch = self._corpus, self._scratch
        found, scores = search(self._graph.postings, terms.numbers, LEXICAL_CANDIDATES, scratch.total)
        # Row -> position of the documents found by BM25, near by vector, and named in the question, in this order.
        place = {row: i for i, row in enumerate(found.tolist())}
        for row in nearest.tolist():
            place.setdefault(row, len(place))
        retrieved = len(place)
        for row in named.rows.tolist():
            place.setdefault(row, len(place))
        if not place:
            return None
        rows = np.fromiter(place, np.int64, len(place))
        cosines = _NONE if cosine is None else cosine(rows)
        bm25 = _padded(scores, len(rows))
        c, linked = first_look(corpus, terms, named, rows, place, bm25, cosines, scratch)
        if len(linked) and cosine is not None:
            cosines = np.concatenate((cosines, cosine(linked)))
        bm25 = _padded(scores, len(rows) + len(linked))
        c, mentions, features = all_features(corpus, terms, named, c, linked, place, bm25, cosines, scratch)
        return Prepared(terms, c, mentions, features, bm25, (found, scores), len(bm25) - retrieved)

    def choose(self, prepared: Prepared, score: Floats, step: Floats) -> tuple[Ints, Floats]:
        """Apply ``choice.choose`` to this corpus."""
        p = prepared
        return choose(self._corpus, p.terms, p.candidates, p.mentions, score, step, self._scratch.sets)


def _padded(values: Floats, count: int) -> Floats:
    """Append zeros up to ``count`` values."""
    padded = np.zeros(count, np.float32)
    padded[: len(values)] = values
    return padded


def linear_weights(weights: dict[str, float]) -> Floats:
    """Return the weights as a vector in the order of FEATURES; missing ones are 0."""
    return np.array([weights.get(name, 0.0) for name in FEATURES], np.float32)


def step_weights(weights: dict[str, float]) -> Floats:
    """Return the weights as a vector in the order of STEP_FEATURES."""
    return np.array([weights[name] for name in STEP_FEATURES], np.float32)
