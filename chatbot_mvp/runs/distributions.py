"""Describe the distribution of values over queries: counts per interval, and quantiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

BINS = 10
_TAIL = 0.99


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values of one quantity, one per query or request."""

    edges: tuple[float, ...]
    """Ascending edges of the intervals, one more than ``counts``. Intervals include their lower edge, the last both."""
    counts: tuple[int, ...]
    """Number of values in each interval."""
    scored: int
    """Number of values: the sum of ``counts`` and ``above``."""
    missing: int
    """Number of queries without a value."""
    above: int
    """Number of values above the last edge. A long tail is cut off so that the other bars stay readable."""
    mean: float
    quantiles: tuple[float, float, float]
    """5 %, median and 95 % quantile, with linear interpolation."""


def distribution(
    values: Iterable[float | None], domain: tuple[float, float] | None = None, bins: int = BINS
) -> Distribution | None:
    """Compute the distribution of ``values``.

    Args:
        values: None is a missing value.
        domain: (lowest, highest possible value); None for 0 to the 99th percentile.

    Returns:
        None if there are no values.
    """
    given = list(values)
    known = np.array([value for value in given if value is not None], dtype=np.float64)
    if not len(known):
        return None
    low, high = domain or (0.0, float(np.quantile(known, _TAIL)))
    if high <= low:
        high = low + 1.0
    # Round the edges: otherwise 0.3 would fall below an edge of 0.30000000000000004.
    edges = np.round(np.linspace(low, high, bins + 1), 9)
    edges[-1] = max(edges[-1], high)
    counts, _ = np.histogram(known, edges)
    low_end, median, high_end = (float(value) for value in np.quantile(known, [0.05, 0.5, 0.95]))
    return Distribution(
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        scored=len(known),
        missing=len(given) - len(known),
        above=int((known > edges[-1]).sum()),
        mean=float(known.mean()),
        quantiles=(low_end, median, high_end),
    )
