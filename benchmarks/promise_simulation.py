"""Simulate calibrations of a promise and print the share of promises that are broken, for several shapes of scores.

A promise is broken if the true share of wrong answers at its threshold is above the promised level. At most 5 % of
the calibrations may end in a broken promise.

    python benchmarks/promise_simulation.py [--calibrations 2000] [--questions 200] [--level 0.05]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.evaluation.kb.promise import FIT_SHARE
from chatbot_mvp.metrics.statistics.risk import GRID, Judged, fixed_sequence, start_of

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrations", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--level", type=float, default=0.05)
    given = parser.parse_args()
    noise = 2 * (_ALPHA * (1 - _ALPHA) / given.calibrations) ** 0.5
    print(f"level {given.level}, {given.questions} questions, broken at most {_ALPHA + noise:.4f} with noise")
    for number, (name, shape) in enumerate(SHAPES.items()):
        found = simulate(shape, given.calibrations, given.questions, given.level, number)
        share = found.broken / found.calibrations
        refused = "-" if found.refused is None else f"{found.refused:.3f}"
        made = found.made / found.calibrations
        held = "held" if share <= _ALPHA + noise else "BROKEN"
        print(f"{name:32} promised {made:.3f}  broken {share:.4f}  refused {refused}  {held}")


if __name__ == "__main__":
    main()
