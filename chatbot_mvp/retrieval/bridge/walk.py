"""The walk over mentions: a hand-set first score, expansion along links, a learned linear score, and a greedy choice.

The numeric work is in compiled functions (``features``, ``links``, ``choice``); this module calls them in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Corpus, Scratch, gathered
from chatbot_mvp.retrieval.bridge.choice import STEP_FEATURES, choose
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
        self._scratch = Scratch(graph)
        self._linear = None if weights is None else linear_weights(weights.linear)
        self._step = None if weights is None else step_weights(weights.step)

    def warm_up(self) -> None:
        """Compile the numba functions (seconds, once per machine), so that the first question does not wait for it."""
        for name in islice(self._graph.names.bearers_of, 1):
            self.rank(" ".join(name), _NOBODY, None, 1)

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
        rows, bm25, retrieved = gathered(found, scores, nearest, named.rows, scratch.of_row)
        if not len(rows):
            return None
        edges = self._graph.outgoing, self._graph.incoming
        cosines = _NONE if cosine is None else cosine(rows)
        c, linked = first_look(corpus, *edges, terms, named, rows, bm25, cosines, scratch.of_row, scratch.of_term)
        if len(linked):
            bm25 = np.concatenate((bm25, np.zeros(len(linked), np.float32)))
            cosines = _NONE if cosine is None else np.concatenate((cosines, cosine(linked)))
        c, features = all_features(
            corpus, *edges, terms, named, c, linked, bm25, cosines, scratch.of_row, scratch.of_term, scratch.sets
        )
        return Prepared(terms, c, features, bm25, (found, scores), len(bm25) - retrieved)

    def choose(self, prepared: Prepared, score: Floats, step: Floats) -> tuple[Ints, Floats]:
        """Apply ``choice.choose`` to this corpus."""
        return choose(
            self._corpus,
            self._graph.outgoing,
            prepared.terms,
            prepared.candidates,
            score,
            step,
            self._scratch.of_row,
            self._scratch.sets,
        )


def linear_weights(weights: dict[str, float]) -> Floats:
    """Return the weights as a vector in the order of FEATURES; missing ones are 0."""
    return np.array([weights.get(name, 0.0) for name in FEATURES], np.float32)


def step_weights(weights: dict[str, float]) -> Floats:
    """Return the weights as a vector in the order of STEP_FEATURES."""
    return np.array([weights[name] for name in STEP_FEATURES], np.float32)
