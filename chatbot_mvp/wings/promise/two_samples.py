"""Test whether two samples come from one distribution (Kolmogorov 1933, Smirnov 1948)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def ks_test(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return (distance, p-value) of the two-sample Kolmogorov-Smirnov test; (0.0, 1.0) if a sample is empty.

    The distance is the largest difference of the two cumulative shares, 0-1. The p-value is the asymptotic one, which
    is too large with ties: then the test raises fewer false alarms.
    """
    if not one or not other:
        return 0.0, 1.0
    first, second = np.sort(np.asarray(one, float)), np.sort(np.asarray(other, float))
    points = np.concatenate([first, second])
    below = (
        np.searchsorted(first, points, "right") / first.size - np.searchsorted(second, points, "right") / second.size
    )
    distance = float(np.abs(below).max())
    scaled = distance * math.sqrt(first.size * second.size / (first.size + second.size))
    if scaled < 0.2:  # the series converges too slowly here, and its sum is 1
        return distance, 1.0
    series = math.fsum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return distance, min(1.0, max(0.0, 2 * series))
