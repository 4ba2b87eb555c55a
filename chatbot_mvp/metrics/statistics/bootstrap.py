"""Confidence intervals of means by percentile bootstrap over queries (Efron & Tibshirani 1993, 13.3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000
SEED = 20_261_121
LEVEL = 0.95
_CELLS = 1_000_000  # matrix cells per block of resamples, 8 MB for any number of queries


def percentile_intervals(values: Floats, resamples: int = RESAMPLES, seed: int = SEED, level: float = LEVEL) -> Floats:
    """Compute the intervals of all columns' means, with the same resamples for every column.

    Args:
        values: shape (queries, metrics); NaN is not scored. For the interval of a difference, pass the differences.
        resamples: number of draws; each draws as many queries as there are, with replacement.
        level: confidence level, 0-1.

    Returns:
        Array of shape (metrics, 2), (low, high): the quantiles (1 - level) / 2 and (1 + level) / 2 of the means over
        the scored queries of each draw. NaN for a column with fewer than two scored values. Deterministic.
    """
    count, columns = values.shape
    scored = ~np.isnan(values)
    filled = np.where(scored, values, 0.0)
    means = np.empty((resamples, columns))
    row = 0
    for times in _draws(count, resamples, seed):
        with np.errstate(invalid="ignore", divide="ignore"):
            means[row : row + len(times)] = (times @ filled) / (times @ scored)
        row += len(times)
    result = np.full((columns, 2), np.nan)
    enough = scored.sum(axis=0) >= 2
    if count and enough.any():
        tail = (1 - level) / 2
        result[enough] = np.nanquantile(means[:, enough], [tail, 1 - tail], axis=0).T
    return np.round(result, 6)


def _draws(count: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of shape (draws, queries) that count how often each query was drawn."""
    rng = np.random.default_rng(seed)
    block = max(1, min(resamples, _CELLS // max(1, count)))
    for begin in range(0, resamples, block):
        size = min(block, resamples - begin)
        drawn = rng.integers(0, count, size=(size, count)) if count else np.zeros((size, 0), dtype=np.int64)
        flat = (drawn + count * np.arange(size)[:, None]).ravel()
        yield np.bincount(flat, minlength=size * count).reshape(size, count).astype(np.float64)
