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

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

LIMIT = 500.0
"""Mean capital at which the alarm is raised. Without a change, 7,200 questions reach it with a probability of 0.18."""
_BINS = 10
_MEMORIES = (30.0, 100.0, 300.0)
_PRIOR = 2.0  # questions that each bin counts beforehand, so that a bet on few questions is a small one
_MOST = 200.0  # of the logarithm of a capital: more would overflow
_BLOCK = 500  # questions that are weighted at a time, for the same reason


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
    held, began = capitals(np.fromiter(p_values(live, labelled, seed), float))
    alarms = np.flatnonzero(held >= limit)
    return Shift(int(began[alarms[0]]), int(alarms[0])) if alarms.size else None


def p_values(live: Iterable[float], labelled: Sequence[float], seed: str) -> Iterator[float]:
    """Yield the p-value of each live evidence score, between 0 and 1. The arguments are those of ``find_shift``."""
    rng = random.Random(seed)
    seen = sorted(labelled)
    for score in live:
        below, through = bisect_left(seen, score), bisect_right(seen, score)
        yield (below + rng.random() * (through - below + 1)) / (len(seen) + 1)
        insort(seen, score)


def capitals(values: Floats) -> tuple[Floats, Numbers]:
    """Return (mean capital after each p-value, number of the first question that the largest capital rests on).

    Args:
        values: p-values in the order of the questions, shape (questions,).
    """
    count = values.size
    fell = np.minimum((values * _BINS).astype(int), _BINS - 1)
    rows = np.arange(count)
    logs, began = np.empty((len(_MEMORIES), count)), np.empty((len(_MEMORIES), count), np.int64)
    for row, memory in enumerate(_MEMORIES):
        last = _last(np.eye(_BINS)[fell], 1 - 1 / memory)
        gains = np.log(_BINS * (last[rows, fell] + _PRIOR) / (last.sum(axis=1) + _BINS * _PRIOR))
        grown = np.concatenate([[0.0], np.cumsum(gains)])
        lowest = np.minimum.accumulate(grown[:-1])  # the best moment to begin is the lowest one
        logs[row] = grown[1:] - lowest
        began[row] = np.maximum.accumulate(np.where(grown[:-1] == lowest, rows, 0))
    return np.exp(np.minimum(logs, _MOST)).mean(axis=0), began[logs.argmax(axis=0), rows]


def _last(hot: Floats, keep: float) -> Floats:
    """Return the sum of the rows before each one, each weighted by ``keep`` to the power of how many lie between."""
    found, carried = np.empty_like(hot), np.zeros(hot.shape[1])
    for begin in range(0, len(hot), _BLOCK):
        part = hot[begin : begin + _BLOCK]
        powers = keep ** np.arange(len(part) + 1)[:, None]
        sums = np.concatenate([np.zeros((1, hot.shape[1])), np.cumsum(part / powers[1:], axis=0)])
        found[begin : begin + len(part)] = powers[:-1] * (carried + sums[:-1])
        carried = powers[-1] * (carried + sums[-1])
    return found
