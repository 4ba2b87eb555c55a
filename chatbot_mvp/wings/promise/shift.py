"""Tell within few questions that the chat's questions are no longer like the labelled ones, without any label.

Each live question gets a p-value: the share of the labelled questions and of the earlier live ones that have less
evidence, with ties broken at random. While all come from one source, these numbers are independent and uniform between
0 and 1, whatever the source (conformal test: Vovk, Gammerman & Shafer 2005, ch. 7). Bets are placed against that:
several fixed ones on less, more and middling evidence, and some on what the last questions were like. For each, the
logarithm of the capital since the best moment to begin is kept: it is never below 0 (Page 1954). The alarm is raised
when the mean capital passes a limit. As the numbers are uniform without a change, the limit needs no data: it
is that of simulated uniform numbers (``python -m benchmarks drift --limits``).
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

LIMIT = 5_000.0
"""Mean capital at which the alarm is raised."""
_POWERS = (0.25, 0.5)  # bets: a density power * p ** (power - 1), on p near 0, near 1, or near 1/2
_BINS = 10
_MEMORIES = (30.0, 100.0, 300.0)  # number of last questions that a bet on their likes remembers, roughly
_PRIOR = 2.0  # questions that each of the bins counts from the beginning
_LEAST = 1e-6
_MOST = 1e100  # of a capital, which would overflow


def p_values(live: Iterable[float], labelled: Sequence[float], seed: str) -> Iterator[float]:
    """Yield the p-value of each live evidence score, in the order in which the questions were asked.

    Args:
        live: evidence scores, 0-1, oldest first.
        labelled: those of the labelled questions.
        seed: decides how ties are broken.
    """
    rng = random.Random(seed)
    seen = sorted(labelled)
    for score in live:
        below, through = bisect_left(seen, score), bisect_right(seen, score)
        yield (below + rng.random() * (through - below + 1)) / (len(seen) + 1)
        insort(seen, score)


def capitals(values: Iterable[float]) -> Iterator[float]:
    """Yield the mean capital after each p-value; each capital is at least 1 before a bet.

    Args:
        values: between 0 and 1.
    """
    fixed = [1.0] * (3 * len(_POWERS))
    moving = [1.0] * len(_MEMORIES)
    counts = [[0.0] * _BINS for _ in _MEMORIES]
    for value in values:
        p = min(max(value, _LEAST), 1 - _LEAST)
        nears = (p, 1 - p, max(abs(2 * p - 1), _LEAST))
        gains = [power * near ** (power - 1) for near in nears for power in _POWERS]
        fixed = [min(max(one, 1.0) * gain, _MOST) for one, gain in zip(fixed, gains, strict=True)]
        at = int(p * _BINS)
        for row, memory in enumerate(_MEMORIES):
            last = counts[row]
            gain = (last[at] + _PRIOR) / (sum(last) + _PRIOR * _BINS) * _BINS
            moving[row] = min(max(moving[row], 1.0) * gain, _MOST)
            last[:] = [one * (1 - 1 / memory) for one in last]
            last[at] += 1
        yield (sum(fixed) + sum(moving)) / (len(fixed) + len(moving))
