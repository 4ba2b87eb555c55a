"""Simulated pairs of runs without a true difference: p < 0.05 must occur in 5 % of them.

Each kind of pair consists of two systems of equal quality: the difficulty of a question is common to both, the rest is
drawn separately. The kinds imitate this project's metrics, with their ties and many zeros. Also simulates how often the
95 % interval of the difference excludes 0, and how often a true difference is detected.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import paired_interval
from chatbot_mvp.metrics.statistics.significance import randomisation_p

Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""(generator, pairs) -> (scores of one system, of the other), each of shape (queries, pairs)."""


def recall_of_two(rng: np.random.Generator, pairs: int, queries: int = 298, gain: float = 0.0) -> tuple[Floats, Floats]:
    """Recall@5 of questions with two gold documents: 0, 0.5 or 1; hard and easy questions are the same for both."""
    ease = rng.beta(1.2, 0.4, size=(queries, pairs))
    better = np.clip(ease + gain, 0, 1)
    return rng.binomial(2, ease) / 2, rng.binomial(2, better) / 2


def seldom_different(rng: np.random.Generator, pairs: int, queries: int = 298) -> tuple[Floats, Floats]:
    """Hit@1 of two configurations that agree on nine questions of ten."""
    shared = (rng.random((queries, pairs)) < 0.8).astype(np.float64)
    scores = []
    for _ in range(2):
        changed = rng.random((queries, pairs)) < 0.1
        scores.append(np.where(changed, rng.random((queries, pairs)) < 0.8, shared).astype(np.float64))
    return scores[0], scores[1]


def zero_inflated(rng: np.random.Generator, pairs: int, queries: int = 298) -> tuple[Floats, Floats]:
    """F1 of answers: 0 for six of ten, else anything; four of ten questions come out alike by both."""
    alike = rng.random((queries, pairs)) < 0.4
    scores = []
    for _ in range(2):
        scores.append(np.where(rng.random((queries, pairs)) < 0.6, 0.0, rng.beta(2, 1, size=(queries, pairs))))
    return scores[0], np.where(alike, scores[0], scores[1])


def reciprocal_ranks(rng: np.random.Generator, pairs: int, queries: int = 298) -> tuple[Floats, Floats]:
    """1 / rank, mostly 1, for rankings that differ in one question of five."""
    alike = rng.random((queries, pairs)) < 0.8
    ranks = [rng.geometric(0.7, size=(queries, pairs)) for _ in range(2)]
    first, second = (np.where(rank > 20, 0.0, 1 / rank) for rank in ranks)
    return first, np.where(alike, first, second)


def few_questions(rng: np.random.Generator, pairs: int) -> tuple[Floats, Floats]:
    """The first kind with the 40 questions of the bundled sample."""
    return recall_of_two(rng, pairs, queries=40)


def many_questions(rng: np.random.Generator, pairs: int) -> tuple[Floats, Floats]:
    """The first kind with 2,000 questions."""
    return recall_of_two(rng, pairs, queries=2_000)


NULL: dict[str, Draw] = {
    "recall@5, 298 questions": recall_of_two,
    "hit@1, nine of ten alike": seldom_different,
    "F1, zero-inflated": zero_inflated,
    "MRR, four of five alike": reciprocal_ranks,
    "recall@5, 40 questions": few_questions,
    "recall@5, 2,000 questions": many_questions,
}
"""Kinds of pairs without a true difference."""


_INTERVALS = 300


def rates(draw: Draw, pairs: int, seed: int = 7) -> dict[str, float]:
    """Share of pairs with p < 0.05, and share of the first ones whose interval leaves 0 out."""
    one, other = draw(np.random.default_rng(seed), pairs)
    differences = other - one
    intervals = np.array([paired_interval(gains) for gains in differences.T[:_INTERVALS]])
    return {
        "p < 0.05": round(float(np.mean(randomisation_p(differences) < 0.05)), 4),
        "interval without 0": round(float(np.mean((intervals[:, 0] > 0) | (intervals[:, 1] < 0))), 4),
    }


def power(gain: float, pairs: int) -> dict[str, float]:
    """The same with one system better: ``gain`` is added to the chance of each gold document."""
    return rates(lambda rng, count: recall_of_two(rng, count, gain=gain), pairs)
