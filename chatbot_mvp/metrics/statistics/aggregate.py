"""From per-query scores to one figure, with how many were scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The mean over the scored queries."""

    mean: float | None
    """None when nothing was scored."""
    scored: int
    total: int


def aggregate(scores: Iterable[float | None]) -> Aggregate:
    """The mean of the scores that are not None."""
    values = list(scores)
    scored = [value for value in values if value is not None]
    return Aggregate(sum(scored) / len(scored) if scored else None, len(scored), len(values))
