"""Search a space of configurations by successive halving on paired gains over today's configuration.

All configurations are measured on a few questions, the better half on twice as many, and so on (Karnin, Koren & Somekh
2013; Jamieson & Talwalkar 2016). The questions of a round contain those of the rounds before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import bounds

FIRST_SHARE = 4
"""The first round has this part of the questions: one in four."""
LEAST_QUESTIONS = 10
"""Number of questions of the first round, if there are as many."""
LEAST_KEPT = 4
"""Number of configurations that reach the last round, if there are as many."""

_TINY = 1e-9

Gains = Callable[[Sequence[int], int], Floats]
"""(rows of configurations, number of questions n) -> gains over today on the first n questions, one row each."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a search."""

    questions: int
    """Number of questions that each configuration has answered by its end."""
    tried: tuple[int, ...]
    """Rows of the configurations that were measured, the best first."""
    gains: tuple[float, ...]
    """Mean gain over today's configuration of each of them."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of a search."""

    rounds: tuple[Round, ...]
    ranking: tuple[int, ...]
    """Rows of the last round's configurations, the best first."""
    ended: str
    """"" if the search reached its last round; "min_effect" if no configuration could be better by the smallest effect
    worth having."""


def round_sizes(questions: int) -> tuple[int, ...]:
    """Return the number of questions of each round; the last has all of them."""
    sizes = [questions]
    while (half := math.ceil(sizes[0] / 2)) >= max(LEAST_QUESTIONS, math.ceil(questions / FIRST_SHARE)):
        if half == sizes[0]:
            break
        sizes.insert(0, half)
    return tuple(sizes)


def round_plan(configurations: int, questions: int) -> tuple[tuple[int, int], ...]:
    """Return (configurations, questions) of each round."""
    left, plan = configurations, []
    for size in round_sizes(questions):
        plan.append((left, size))
        left = _kept(left)
    return tuple(plan)


def halving(configurations: int, questions: int, gains: Gains, min_effect: float) -> Searched:
    """Find the configurations with the highest mean gain.

    The search ends early if the upper bound of every configuration's mean gain, one-sided at 95 %, is below
    ``min_effect``.

    Args:
        configurations: their number, 1 or more. Ties keep the order of their rows.
        questions: number of questions, 1 or more.
        gains: measures configurations. Called once per round, with ever more questions.
        min_effect: smallest gain worth having, in units of the metric.
    """
    rows: Sequence[int] = range(configurations)
    rounds: list[Round] = []
    for size in round_sizes(questions):
        found = gains(rows, size)
        means = found.mean(axis=1)
        order = np.lexsort((np.asarray(rows), -np.round(means, 9))).tolist()
        rounds.append(Round(size, tuple(rows[at] for at in order), tuple(means[order].tolist())))
        if all(not _may_reach(found[at], min_effect) for at in order):
            return Searched(tuple(rounds), rounds[-1].tried, "min_effect")
        rows = rounds[-1].tried[: _kept(len(order))]
    return Searched(tuple(rounds), rounds[-1].tried, "")


def _kept(count: int) -> int:
    return max(math.ceil(count / 2), min(count, LEAST_KEPT))


def _may_reach(gains: Floats, min_effect: float) -> bool:
    if float(gains.mean()) >= min_effect - _TINY:
        return True  # the bound is above the mean, and finding it takes a millisecond
    # If no question gains, the bound is 0, however few questions there are. So one more is counted, which gains 1.
    return bounds(np.append(gains, 1.0))[1] >= min_effect - _TINY


def front(points: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the positions of the points that no other point beats: higher first value, lower other values.

    Equal points are beaten by the first of them.
    """
    table = np.array([(-point[0], *point[1:]) for point in points], dtype=np.float64)
    kept = []
    for at in range(len(table)):
        no_worse = (table <= table[at] + _TINY).all(axis=1)
        better = (table < table[at] - _TINY).any(axis=1)
        equal = no_worse & ~better
        if not (no_worse & better).any() and int(np.flatnonzero(equal)[0]) == at:
            kept.append(at)
    return kept
