"""Test whether two runs over the same queries differ: paired randomisation test with Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import SEED, Floats

PERMUTATIONS = 20_000
EXACT_PAIRS = 14
"""Up to this number n of differing pairs all 2^n sign patterns are counted; above it, a random sample."""

_CELLS = 1_000_000  # matrix cells per block of sign patterns, 8 MB
_TINY = 1e-9


def randomisation_p(
    differences: Floats, permutations: int = PERMUTATIONS, seed: int = SEED, ties: float = 0.5
) -> Floats:
    """Compute the two-sided p of each column by random signs (Fisher 1935; Smucker, Allan & Carterette 2007).

    Under the null hypothesis each difference could equally have the opposite sign. p is the share of sign patterns
    whose absolute sum exceeds that of the data, plus half of the share that equals it (mid-p, Lancaster 1961).
    Coarse-grained scores produce many equal sums, and counting those fully would make the test too conservative. A
    sample includes the data's own pattern, so that p is never 0 (Phipson & Smyth 2010).

    Args:
        differences: shape (queries, metrics), paired by query; NaN if either run is not scored.
        permutations: number of sampled sign patterns.
        ties: weight of an equal sum; 1.0 gives the conservative p of textbooks.

    Returns:
        p per metric in 0-1. NaN for a metric without a scored pair, 1.0 if no pair differs. Deterministic, and
        independent of the other columns.
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
    """Compute p over all 2^n sign patterns; 1.0 if there are no values."""
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
    reached = np.full(values.shape[1], ties)  # the pattern of the data themselves
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
    """Count the sums that exceed the observed one, plus ``ties`` for each that equals it."""
    beyond = (np.abs(sums) > observed + _TINY).sum(axis=0)
    at_least = (np.abs(sums) >= observed - _TINY).sum(axis=0)
    result: Floats = beyond + ties * (at_least - beyond)
    return result


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for multiple tests (Holm 1979), which bounds the probability of any false positive.

    The i-th smallest of m values is multiplied by m - i + 1, is at least its predecessor, and at most 1. None stays
    None and is not counted in m.
    """
    known = sorted((value, index) for index, value in enumerate(values) if value is not None)
    result: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, index) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - rank)))
        result[index] = highest
    return result
