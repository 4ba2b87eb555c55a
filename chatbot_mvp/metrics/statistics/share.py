"""A share of a number of things, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959964  # normal quantile of a two-sided 95 % interval


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The share, 0-1; None if the total is 0."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % score interval (Wilson 1927), valid for small totals and shares of 0 too; None if the total is 0."""
        if not self.total:
            return None
        n, p = self.total, self.count / self.total
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
        return max(0.0, middle - half), min(1.0, middle + half)
