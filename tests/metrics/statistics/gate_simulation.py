"""Simulated commits: how often the gate calls them worse, not worse or unclear, beside the printed probability.

A commit is a set of paired gains per question, drawn with a known true drop. Kinds of scores: hit@1 (gains of -1, 0 and
1, where a share of the questions changes), recall@5 (steps of a half), and a judge's scores (noise on every question).
A drop of 0 is a commit without effect. The tolerance is 0.02.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import deviation_of, gain_test, power
from chatbot_mvp.metrics.statistics.significance import randomisation_p

TOLERANCE = 0.02

Draw = Callable[[np.random.Generator, int, int, float], Floats]
"""(generator, questions, trials, true drop) -> gains of shape (questions, trials)."""


def hits(changed: float, rng: np.random.Generator, questions: int, trials: int, drop: float) -> Floats:
    """Draw gains of hit@1: a share ``changed`` of the questions changes, more of them down than up."""
    changed = max(changed, drop)
    shares = [(changed + drop) / 2, 1 - changed, (changed - drop) / 2]
    return rng.choice([-1.0, 0.0, 1.0], p=shares, size=(questions, trials))


def recalls(changed: float, rng: np.random.Generator, questions: int, trials: int, drop: float) -> Floats:
    """Draw gains of recall@5 with two relevant documents: each of the two changes on its own."""
    return (hits(changed, rng, questions, trials, drop) + hits(changed, rng, questions, trials, drop)) / 2


def judged(spread: float, rng: np.random.Generator, questions: int, trials: int, drop: float) -> Floats:
    """Draw gains of a judge's scores: both sides have noise with the standard deviation ``spread``."""
    return rng.normal(-drop, spread * 2**0.5, size=(questions, trials))


@dataclass(frozen=True)
class Case:
    """One kind of score and how its gains vary."""

    name: str
    draw: Draw
    deviation: Callable[[float], float]
    """True drop -> standard deviation of a gain."""
    step: float
    """Smallest change of a score; 0 for a continuous one."""


def _of_recalls(changed: float, drop: float) -> float:
    return deviation_of(changed, drop) / 2**0.5


def _of_judge(spread: float, drop: float) -> float:
    return spread * 2**0.5


CASES = (
    Case("hit@1, 5 % of the questions change", partial(hits, 0.05), partial(deviation_of, 0.05), 1.0),
    Case("hit@1, 10 % change", partial(hits, 0.10), partial(deviation_of, 0.10), 1.0),
    Case("hit@1, 20 % change", partial(hits, 0.20), partial(deviation_of, 0.20), 1.0),
    Case("recall@5, 10 % of the documents change", partial(recalls, 0.10), partial(_of_recalls, 0.10), 0.5),
    Case("judge, noise 0.15 on each side", partial(judged, 0.15), partial(_of_judge, 0.15), 0.0),
)


def rates(case: Case, questions: int, drop: float, trials: int, seed: int = 11) -> dict[str, float]:
    """Return the printed probability of "worse" and the measured share of each verdict."""
    gains = case.draw(np.random.default_rng(seed), questions, trials, drop)
    # As ``one_sided_ps``, with one set of sign patterns for all trials.
    towards, sums = randomisation_p(gains, ties=1.0) / 2, gains.sum(axis=0)
    fell, rose = np.where(sums < 0, towards, 1 - towards).tolist(), np.where(sums > 0, towards, 1 - towards).tolist()
    rows = zip(gains.T, fell, rose, strict=True)
    verdicts = [gain_test(values, 0.0, TOLERANCE, worse, better).verdict for values, worse, better in rows]
    deviation = case.deviation(drop)
    return {
        "printed": round(power(questions, deviation, drop, TOLERANCE, case.step), 3),
        "worse": round(verdicts.count("worse") / trials, 3),
        "unclear": round(verdicts.count("unclear") / trials, 3),
        "not worse": round((verdicts.count("not_worse") + verdicts.count("better")) / trials, 3),
    }


@dataclass(frozen=True)
class Row:
    case: str
    questions: int
    drop: float
    rates: dict[str, float]


def measure(trials: int) -> list[Row]:
    """Measure all cases: three drops with 300 questions, and 5 points with fewer and more."""
    cells = [(300, 0.0), (300, 0.02), (300, 0.03), (300, 0.05), (100, 0.05), (1_000, 0.0), (1_000, 0.03)]
    return [
        Row(case.name, questions, drop, rates(case, questions, drop, trials))
        for case in CASES
        for questions, drop in cells
    ]
