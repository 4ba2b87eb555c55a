"""The walk over mentions: a hand-set first look, growth along links, a learned linear score, and a greedy choice.

The greedy choice takes documents one by one; each next one is judged by its own score and by what it adds to those
taken already, so that the first few together cover the question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, gather, row_maximum
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Describer
from chatbot_mvp.retrieval.bridge.features import FeatureMaker
from chatbot_mvp.retrieval.bridge.graph import MentionGraph
from chatbot_mvp.retrieval.bridge.question import read_question
from chatbot_mvp.retrieval.bridge.weights import Weights
from chatbot_mvp.text import Analyzer

STEP_FEATURES = ("score", "new", "linked_new", "alone_new", "links", "words", "dup")

LEXICAL_CANDIDATES = 120
VECTOR_CANDIDATES = 60

_FIRST_PARENTS, _PARENTS = 6, 8
_FIRST_LOOK = {
    "bm25": 0.5,
    "bm25_own": 0.5,
    "named": 0.6,
    "sentence": 0.3,
    "pairs": 0.2,
    "cosine": 0.8,
    "forward": 0.8,
    "backward": 0.6,
}
"""Set by hand, once, before anything was measured with them."""
_WEAK_LINK = 0.05
_POOL = 60
"""The greedy choice is among so many of the best; the others follow in the order of their scores."""
_DEPTH = 10
_LINKED = 0.3

Cosine = Callable[[Ints], Floats]
"""Rows -> their cosine with the question."""


@dataclass(frozen=True)
class Ranking:
    """All candidates of a question, best first."""

    rows: Ints
    relative: Floats
    """0-1, falling: how near the score is to the best one."""
    signals: dict[str, Floats]


class BridgeWalk:
    """Ranks documents over one corpus. Safe to share between threads.

    Args:
        weights: the learned weights; None ranks by the hand-set score alone.
    """

    def __init__(self, graph: MentionGraph, analyzer: Analyzer, weights: Weights | None) -> None:
        self.graph = graph
        self.analyzer = analyzer
        self.weights = weights
        self._describer = Describer(graph)
        self.features = FeatureMaker(self._describer)

    def rank(self, text: str, lexical: list[tuple[int, float]], nearest: list[int], cosine: Cosine | None) -> Ranking:
        """Rank the documents found and those that links lead to.

        Args:
            lexical: (row, score) of the first search, best first.
            nearest: rows of the nearest vectors; empty without vectors.
            cosine: gives the cosine of any rows; None without vectors.
        """
        c, own, hand = self.prepare(text, lexical, nearest, cosine)
        if not len(c.rows):
            return Ranking(c.rows, np.zeros(0, np.float32), {})
        signals = {"bm25_norm": own["bm25"], "named": own["named_idf"]}
        if "cosine" in own:
            signals["vector_norm"] = own["cosine_scaled"]
        if self.weights is None:
            score = hand
            order = np.argsort(-hand, kind="stable")
        else:
            features = self.features.linked(c, own, hand, _PARENTS)
            score = self.linear(features, self.weights.linear)
            order = self.choose(c, score, np.array([self.weights.step[name] for name in STEP_FEATURES], np.float32))
            signals["link_bonus"] = features["forward_new"] + features["support"]
        # The order is the walk's; the figure shown may not rise along it.
        relative = np.minimum.accumulate(np.exp(np.minimum(0.0, score[order] - score.max())))
        return Ranking(
            c.rows[order],
            relative.astype(np.float32),
            {name: values[order] for name, values in signals.items()},
        )

    def prepare(
        self, text: str, lexical: list[tuple[int, float]], nearest: list[int], cosine: Cosine | None
    ) -> tuple[Candidates, dict[str, Floats], Floats]:
        """All that comes before the first learned weight: (candidates, their own features, hand-set score in 0-1)."""
        question = read_question(text, self.graph, self.analyzer)
        c = Candidates(question, dict(lexical), None if cosine is None else {})
        found = dict.fromkeys([row for row, _ in lexical] + list(question.named) + nearest)
        self._add(c, np.array(list(found), np.int64), cosine)
        if not len(c.rows):
            return c, {}, np.zeros(0, np.float32)
        self._grow(c, self._first_look(c, self.features.own(c)), cosine)
        own = self.features.own(c)
        look = self._first_look(c, own)
        links = self.features.links(c, look, _FIRST_PARENTS)
        hand = look.copy()
        for name, chosen in (("forward", links.forward), ("backward", ~links.forward)):
            hand += _FIRST_LOOK[name] * row_maximum(links.value[chosen], links.candidate[chosen], len(c.rows))
        return c, own, hand / max(float(hand.max()), 1e-6)

    @staticmethod
    def linear(features: dict[str, Floats], weights: dict[str, float]) -> Floats:
        """The weighted sum of the features."""
        score: Floats = sum(
            (weight * features[name] for name, weight in weights.items()), start=np.zeros_like(features["hand"])
        )
        return score

    def choose(
        self, c: Candidates, score: Floats, weights: Floats, trace: list[tuple[list[int], Array]] | None = None
    ) -> Ints:
        """Positions of all candidates, best first.

        Args:
            weights: of STEP_FEATURES.
            trace: takes (positions taken in the pool, features of the pool) before each step; for fitting.
        """
        order = np.argsort(-score, kind="stable")
        pool = order[:_POOL]
        link, shared, alike = self._pool_links(c, pool)
        has, idf = c.has[pool], c.question.idf / c.question.total
        taken = [0]
        free = np.ones(len(pool), bool)
        free[0] = False
        left = idf * (1 - has[0])
        best_link, best_shared, best_alike = link[0].copy(), shared[0].copy(), alike[0].copy()
        links = (link[0] > _LINKED).astype(np.float32)
        step = np.empty((len(STEP_FEATURES), len(pool)), np.float32)
        step[0] = score[pool] - score[pool[0]]
        while len(taken) < min(_DEPTH, len(pool)):
            new = has @ left
            step[1:] = (
                new,
                new * best_link,
                new * (best_link == 0),
                np.minimum(links, 3) / 3,
                best_shared,
                best_alike,
            )
            if trace is not None:
                trace.append((list(taken), step.T.copy()))
            value = weights @ step
            value[~free] = -np.inf
            chosen = int(value.argmax())
            taken.append(chosen)
            free[chosen] = False
            left = left * (1 - has[chosen])
            np.maximum(best_link, link[chosen], out=best_link)
            np.maximum(best_shared, shared[chosen], out=best_shared)
            np.maximum(best_alike, alike[chosen], out=best_alike)
            links += link[chosen] > _LINKED
        rest = np.ones(len(order), bool)
        rest[taken] = False
        return np.concatenate((pool[taken], order[rest]))

    def pool_of(self, score: Floats) -> Ints:
        """Positions of the candidates among which ``choose`` chooses."""
        return np.argsort(-score, kind="stable")[:_POOL]

    def _pool_links(self, c: Candidates, pool: Ints) -> tuple[Floats, Floats, Floats]:
        """P x P: strength of the link either way, shared proper words, likeness of the titles."""
        rows, of_row, outgoing = c.rows[pool], self._describer.scratch.of_row, self.graph.outgoing
        of_row[rows] = np.arange(len(rows))
        at, source = gather(outgoing.start[rows], outgoing.start[rows + 1])
        target = of_row[outgoing.other[at]]
        of_row[rows] = -1
        known = target >= 0
        link = np.zeros((len(rows), len(rows)), np.float32)
        np.maximum.at(link, (source[known], target[known]), np.sqrt(outgoing.weight[at[known]]))
        return np.maximum(link, link.T), self.features.shared_words(c, rows, rows), self.features.title_likeness(rows)

    def _first_look(self, c: Candidates, own: dict[str, Floats]) -> Floats:
        weights = _FIRST_LOOK
        look = (
            weights["bm25"] * own["bm25"]
            + weights["bm25_own"] * own["bm25_own"]
            + weights["named"] * np.minimum(1, 2 * own["named_idf"])
            + weights["sentence"] * c.sentence_cover
            + weights["pairs"] * c.pair_cover
        )
        if "cosine_scaled" in own:
            look = look + weights["cosine"] * own["cosine_scaled"]
        scaled: Floats = look / max(float(look.max()), 1e-6)
        return scaled

    def _grow(self, c: Candidates, prior: Floats, cosine: Cosine | None) -> None:
        """Add what the best candidates mention or are mentioned by."""
        of_row = self._describer.scratch.of_row
        best = c.rows[np.argsort(-prior, kind="stable")[:_FIRST_PARENTS]]
        of_row[c.rows] = 0
        _, other, weight, *_ = self.features.edges(best)
        of_row[c.rows] = -1
        linked = np.unique(other[weight > _WEAK_LINK]).astype(np.int64)
        self._add(c, linked[~np.isin(linked, c.rows)], cosine)

    def _add(self, c: Candidates, rows: Ints, cosine: Cosine | None) -> None:
        self._describer.add(c, rows)
        if cosine is not None and c.cosine is not None and len(rows):
            c.cosine.update(zip(rows.tolist(), cosine(rows).tolist(), strict=True))
