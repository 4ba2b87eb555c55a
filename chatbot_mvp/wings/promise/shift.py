"""Tell within few questions, and without a label, that the chat's questions are no longer like the labelled ones.

Each live question gets a p-value: the share of the labelled questions and of the earlier live ones that have less
evidence, with ties broken at random. While all come from one source, these numbers are independent and uniform between
0 and 1, whatever the source (conformal test: Vovk, Gammerman & Shafer 2005, chapter 7). Three bets say that they are
not: each expects the next one where the last ones fell, and each remembers another number of them. A capital is put up
again whenever it falls below 1, so that what happened before a change does not delay the alarm (Page 1954). The alarm
is raised when the mean capital reaches ``LIMIT``. Because the numbers are uniform without a change, how often that
happens by chance is known without any data: ``python -m benchmarks drift --limits``.

Only a change that the evidence shows is seen: answers that become wrong while their evidence stays are not.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LIMIT = 500.0
"""Mean capital at which the alarm is raised. Without a change, 7,200 questions reach it with a probability of 0.19."""
_BINS = 10
_MEMORIES = (30.0, 100.0, 300.0)
_PRIOR = 2.0  # questions that each bin counts beforehand, so that a bet on few questions is a small one
_MOST = 1e100  # of a capital, and of a weight: more would overflow


@dataclass(frozen=True, slots=True)
class Shift:
    """Where questions ceased to be like the labelled ones."""

    began: int
    """Number, from 0, of the first question of the stretch that speaks for a change; an estimate."""
    raised: int
    """Number, from 0, of the question at which the alarm was raised."""


def find_shift(live: Iterable[float], labelled: Sequence[float], seed: str, limit: float = LIMIT) -> Shift | None:
    """Return the first alarm; None if there is none.

    Args:
        live: evidence scores of the live questions, 0-1, oldest first.
        labelled: those of the labelled questions.
        seed: decides how ties are broken.
        limit: mean capital at which the alarm is raised.
    """
    for number, (capital, began) in enumerate(capitals(p_values(live, labelled, seed))):
        if capital >= limit:
            return Shift(began, number)
    return None


def p_values(live: Iterable[float], labelled: Sequence[float], seed: str) -> Iterator[float]:
    """Yield the p-value of each live evidence score, between 0 and 1. The arguments are those of ``find_shift``."""
    rng = random.Random(seed)
    seen = sorted(labelled)
    for score in live:
        below, through = bisect_left(seen, score), bisect_right(seen, score)
        yield (below + rng.random() * (through - below + 1)) / (len(seen) + 1)
        insort(seen, score)


def capitals(values: Iterable[float]) -> Iterator[tuple[float, int]]:
    """Yield (mean capital, number of the first question that the largest one rests on) after each p-value."""
    held, began = [1.0] * len(_MEMORIES), [0] * len(_MEMORIES)
    # Older questions count less. Instead of making them smaller, the newest one gets the largest weight.
    bins = [[0.0] * _BINS for _ in _MEMORIES]
    totals, weights = [0.0] * len(_MEMORIES), [1.0] * len(_MEMORIES)
    for number, value in enumerate(values):
        fell = min(int(value * _BINS), _BINS - 1)
        for row, memory in enumerate(_MEMORIES):
            if held[row] <= 1:
                held[row], began[row] = 1.0, number
            prior = _PRIOR * weights[row]
            gain = _BINS * (bins[row][fell] + prior) / (totals[row] + _BINS * prior)
            held[row] = min(_MOST, held[row] * gain)
            weights[row] /= 1 - 1 / memory
            bins[row][fell] += weights[row]
            totals[row] += weights[row]
            if weights[row] > _MOST:
                bins[row] = [each / weights[row] for each in bins[row]]
                totals[row] /= weights[row]
                weights[row] = 1.0
        yield sum(held) / len(held), began[held.index(max(held))]
