"""Simulated calibrations of a promise: the share of promises that are broken, for several shapes of scores.

A promise is broken if the true share of wrong answers at its threshold is above the promised level. At most 5 % of
the calibrations may end in a broken promise. Three parts: single questions as draws; questions of documents, which are
alike within a document, calibrated by document; the second promise for far questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.wings.promise.calibration import FIT_SHARE, LabelledQuestion
from chatbot_mvp.wings.promise.clustered_risk import cluster_sequence, plan_of
from chatbot_mvp.wings.promise.promise import Basis, make_promise
from chatbot_mvp.wings.promise.risk import GRID, Judged, fixed_sequence, start_of

Floats = npt.NDArray[np.float64]
_POPULATION = 400_000
_ALPHA = 0.05


@dataclass(frozen=True)
class Shape:
    """A distribution of questions: scores, and the probability that an answer to a question is wrong."""

    scores: Callable[[np.random.Generator, int], Floats]
    wrong: Callable[[Floats, float], Floats]
    """(scores, promised level) -> probability of a wrong answer, 0-1."""


@dataclass(frozen=True)
class Outcome:
    """What happened to the simulated calibrations of one shape."""

    calibrations: int
    made: int
    """Number of calibrations that made a promise."""
    broken: int
    """Number of calibrations that made a promise whose true risk is above the level."""
    refused: float | None
    """Mean share of questions refused at the promised thresholds; None if no promise was made."""


def _uniform(rng: np.random.Generator, count: int) -> Floats:
    return rng.random(count)


def _high(rng: np.random.Generator, count: int) -> Floats:
    return rng.beta(5, 2, count)


def _steps(rng: np.random.Generator, count: int) -> Floats:
    return rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], count)


def _low(rng: np.random.Generator, count: int) -> Floats:
    return rng.beta(2, 5, count)


SHAPES = {
    "overlapping": Shape(_high, lambda s, level: 1 / (1 + np.exp(14 * (s - 0.5)))),
    "separated": Shape(_uniform, lambda s, level: np.where(s > 0.4, 0.002, 0.98)),
    "discrete": Shape(_steps, lambda s, level: np.where(s > 0.6, 0.6 * level, 2.5 * level)),
    "useless": Shape(_uniform, lambda s, level: np.full_like(s, 0.3)),
    "useless, just above the level": Shape(_uniform, lambda s, level: np.full_like(s, 1.001 * level)),
    "wrong at the top": Shape(_uniform, lambda s, level: np.where(s > 0.85, 4 * level, 0.4 * level)),
    "few answers": Shape(_low, lambda s, level: np.where(s > 0.5, 0.2 * level, 0.7)),
}


def simulate(shape: Shape, calibrations: int, questions: int, level: float, seed: int) -> Outcome:
    """Draw labelled questions, calibrate, and compare the promise with the true risk, ``calibrations`` times."""
    rng = np.random.default_rng(seed)
    risks, coverage = _truth(shape, level, rng)
    made = broken = 0
    refused = []
    for judged in _draws(shape, calibrations, questions, level, rng):
        fit, rest = judged[: round(FIT_SHARE * questions)], judged[round(FIT_SHARE * questions) :]
        found = fixed_sequence(rest, level, start_of(fit, level, len(rest)), _ALPHA)
        if found is not None:
            step = round(found.threshold * GRID)
            made += 1
            broken += bool(risks[step] > level)
            refused.append(1 - float(coverage[step]))
    return Outcome(calibrations, made, broken, float(np.mean(refused)) if refused else None)


def _truth(shape: Shape, level: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (risk, share answered) at every threshold of the grid, over a large population."""
    scores = shape.scores(rng, _POPULATION)
    wrong = shape.wrong(scores, level)
    masks = [scores >= step / GRID for step in range(GRID + 1)]
    risks = [float(wrong[mask].mean()) if mask.any() else 0.0 for mask in masks]
    return np.array(risks), np.array([mask.mean() for mask in masks])


def _draws(
    shape: Shape, calibrations: int, questions: int, level: float, rng: np.random.Generator
) -> Iterator[list[Judged]]:
    for _ in range(calibrations):
        scores = shape.scores(rng, questions)
        wrong = rng.random(questions) < shape.wrong(scores, level)
        yield [Judged(float(score), bool(bad)) for score, bad in zip(scores, wrong, strict=True)]


@dataclass(frozen=True)
class Documents:
    """A distribution of documents with questions."""

    shape: Shape
    sizes: tuple[int, ...]
    """Numbers of questions of a document, equally likely."""
    correlation: float
    """Correlation, 0-1, of the normal variables behind two answers about one document (a Gaussian copula)."""
    larger_is_worse: bool = False
    """Whether an answer about the largest documents is wrong three times as often."""


DOCUMENTS = {
    "just above, 5 each, 0.3": Documents(SHAPES["useless, just above the level"], (5,), 0.3),
    "just above, 10 each, 0.8": Documents(SHAPES["useless, just above the level"], (10,), 0.8),
    "just above, 1 to 20, 0.8": Documents(SHAPES["useless, just above the level"], (1, 2, 5, 20), 0.8),
    "overlapping, 3 each, 0.3": Documents(SHAPES["overlapping"], (3,), 0.3),
    "overlapping, 10 each, 0": Documents(SHAPES["overlapping"], (10,), 0.0),
    "overlapping, 10 each, 0.8": Documents(SHAPES["overlapping"], (10,), 0.8),
    "wrong at the top, 1 to 20, 0.5": Documents(SHAPES["wrong at the top"], (1, 2, 5, 20), 0.5),
    "discrete, 1 to 20, 0.5, large are worse": Documents(SHAPES["discrete"], (1, 2, 5, 20), 0.5, True),
}


def simulate_documents(drawn: Documents, calibrations: int, documents: int, level: float, seed: int) -> Outcome:
    """Calibrate by document.

    The true risk is what the promise says: the share of wrong answers about a document, averaged over documents.
    """
    rng = np.random.default_rng(seed)
    risks = _mean_shares(draw_documents(drawn, 10_000, level, rng))
    fitting = round(FIT_SHARE * documents)
    made = broken = 0
    for _ in range(calibrations):
        found = _judged(draw_documents(drawn, documents, level, rng))
        fit, rest = found[:fitting], found[fitting:]
        controlled = cluster_sequence(rest, level, plan_of(fit, level, len(rest), _ALPHA), _ALPHA)
        if controlled is not None:
            made += 1
            broken += bool(risks[round(controlled.threshold * GRID)] > level)
    return Outcome(calibrations, made, broken, None)


@dataclass(frozen=True)
class _Drawn:
    """Questions of documents, one document after the other."""

    sizes: npt.NDArray[np.int64]
    scores: Floats
    probability: Floats
    """Probability that an answer to the question is wrong."""
    wrong: npt.NDArray[np.bool_]


def draw_documents(drawn: Documents, count: int, level: float, rng: np.random.Generator) -> _Drawn:
    sizes = rng.choice(drawn.sizes, count)
    scores = drawn.shape.scores(rng, int(sizes.sum()))
    probability = drawn.shape.wrong(scores, level)
    if drawn.larger_is_worse:
        probability = probability * np.where(np.repeat(sizes, sizes) == max(drawn.sizes), 1.5, 0.5)
    shared = np.repeat(rng.standard_normal(count), sizes) * drawn.correlation**0.5
    own = rng.standard_normal(len(scores)) * (1 - drawn.correlation) ** 0.5
    return _Drawn(sizes, scores, probability, shared + own < norm.ppf(np.minimum(probability, 1.0)))


def _judged(drawn: _Drawn) -> list[list[Judged]]:
    flat = [Judged(score, bad) for score, bad in zip(drawn.scores.tolist(), drawn.wrong.tolist(), strict=True)]
    ends = np.cumsum(drawn.sizes)
    return [flat[end - size : end] for size, end in zip(drawn.sizes, ends, strict=True)]


def _mean_shares(drawn: _Drawn) -> Floats:
    """Return the mean share of wrong answers over the documents that get one, at every threshold of the grid.

    The expected share of a document is the mean probability of its answers, whatever their correlation.
    """
    begins = np.concatenate([[0], np.cumsum(drawn.sizes)[:-1]])
    risks = np.zeros(GRID + 1)
    for step in range(GRID + 1):
        above = drawn.scores >= step / GRID
        answered = np.add.reduceat(above, begins, dtype=np.int64)
        expected = np.add.reduceat(above * drawn.probability, begins)
        if answered.any():
            risks[step] = float((expected[answered > 0] / answered[answered > 0]).mean())
    return risks


FAR: dict[str, Callable[[np.random.Generator, int, float], Floats]] = {
    "low scores": lambda rng, count, level: rng.beta(1.2, 8, count),
    "like those of answerable questions": lambda rng, count, level: rng.beta(4, 3, count),
    "answered just above the level": lambda rng, count, level: np.where(rng.random(count) < 1.001 * level, 0.97, 0.02),
}
"""Name -> scores of far questions. All other questions are answerable, with scores from a beta distribution (5, 2)."""


def simulate_far(name: str, calibrations: int, questions: int, level: float, seed: int) -> Outcome:
    """Make promises from as many far questions as answerable ones, and check the promise for far questions.

    Its threshold is that of the first promise, which the far questions help to choose: any answer to one is wrong.
    """
    rng = np.random.default_rng(seed)
    population = FAR[name](rng, _POPULATION, level)
    made = broken = 0
    for _ in range(calibrations):
        scores = {"answerable": rng.beta(5, 2, questions), "far": FAR[name](rng, questions, level)}
        asked = [
            LabelledQuestion(KbQuestion("", f"{kind} {row}", kind), float(score), kind == "far")
            for kind, values in scores.items()
            for row, score in enumerate(values)
        ]
        promise = make_promise(asked, 0, level, Basis("", "", "", "", "", "", {}), "question")
        if promise.far.held:
            made += 1
            at = (promise.strictest if promise.threshold is None else promise.threshold) - 1
            broken += bool((population >= at).mean() > level)
    return Outcome(calibrations, made, broken, None)
