"""Average per-query scores, and count how many were scored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The mean over the scored queries."""

    mean: float | None
    """None if no query was scored."""
    scored: int
    """Number of queries with a score."""
    total: int
    """Number of all queries."""


def aggregate(scores: Iterable[float | None]) -> Aggregate:
    """Average the scores that are not None."""
    values = list(scores)
    scored = [value for value in values if value is not None]
    return Aggregate(sum(scored) / len(scored) if scored else None, len(scored), len(values))
