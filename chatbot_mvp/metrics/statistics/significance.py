"""Whether two runs over the same queries differ by more than chance: a paired randomisation test, Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import SEED, Floats

PERMUTATIONS = 20_000
EXACT_PAIRS = 14
"""Up to so many differing pairs all 2^n sign patterns are counted instead of a sample."""

_CELLS = 1_000_000  # of a block of sign patterns: 8 MB
_TINY = 1e-9


def randomisation_p(
    differences: Floats, permutations: int = PERMUTATIONS, seed: int = SEED, ties: float = 0.5
) -> Floats:
    """Two-sided p of each column by random signs (Fisher 1935; for retrieval: Smucker, Allan & Carterette 2007).

    Under the null hypothesis it does not matter which run a query's score came from, so each difference may as well
    have the other sign. p = share of sign patterns whose absolute sum exceeds that of the data, plus half of the share
    that equals it (the mid-p of Lancaster 1961): scores in few steps make many equal sums, and counting them whole
    finds a difference too seldom. The data themselves are one of the patterns of a sample, so that p is never 0
    (Phipson & Smyth 2010).

    Args:
        differences: queries × metrics, paired by query; NaN where either run is not scored.
        ties: what an equal sum counts; 1.0 gives the conservative p of the textbook.

    Returns:
        p per metric in 0-1. NaN for a metric without a scored pair, 1.0 if no pair differs. Deterministic, and for each
        metric the same whichever others are tested beside it.
    """
    scored = ~np.isnan(differences)
    filled = np.where(scored, differences, 0.0)
    filled[np.abs(filled) < _TINY] = 0.0
    result = np.full(filled.shape[1], np.nan)
    differing = np.count_nonzero(filled, axis=0)
    sampled = []
    for column in np.flatnonzero(scored.any(axis=0)):
        if differing[column] <= EXACT_PAIRS:
            result[column] = _exact(filled[filled[:, column] != 0.0, column], ties)
        else:
            sampled.append(column)
    if sampled:
        result[sampled] = _sampled(filled[:, sampled], permutations, seed, ties)
    return result


def _exact(values: Floats, ties: float) -> float:
    """Over all 2^n patterns of signs; 1.0 for no values."""
    if not len(values):
        return 1.0
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return float(_reached(sums, np.abs(values.sum()), ties) / len(sums))


def _sampled(values: Floats, permutations: int, seed: int, ties: float) -> Floats:
    rng = np.random.default_rng(seed)
    count = len(values)
    observed = np.abs(values.sum(axis=0))
    reached = np.full(values.shape[1], ties)  # the data as they are
    width = -(-count // 8)
    block = max(1, _CELLS // count)
    for begin in range(0, permutations, block):
        size = min(block, permutations - begin)
        bits = np.unpackbits(rng.integers(0, 256, size=(size, width), dtype=np.uint8), axis=1, count=count)
        sums = 2 * (bits.astype(np.float64) @ values) - values.sum(axis=0)
        reached += _reached(sums, observed, ties)
    result: Floats = reached / (1 + permutations)
    return result


def _reached(sums: Floats, observed: Floats, ties: float) -> Floats:
    """How many sums exceed the observed one, and those that equal it at ``ties`` each."""
    beyond = (np.abs(sums) > observed + _TINY).sum(axis=0)
    at_least = (np.abs(sums) >= observed - _TINY).sum(axis=0)
    result: Floats = beyond + ties * (at_least - beyond)
    return result


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p corrected for having tested several things (Holm 1979): bounds the chance of any false finding.

    The i-th smallest of m is multiplied by m - i + 1, never below the one before it, at most 1. None stays None and
    is not counted among the m.
    """
    known = sorted((value, index) for index, value in enumerate(values) if value is not None)
    result: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, index) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - rank)))
        result[index] = highest
    return result
