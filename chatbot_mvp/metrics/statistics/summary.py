"""Summarise a run: for each metric the means with and without failures, interval and counts, overall and by split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.noninferiority import bounds
from chatbot_mvp.metrics.statistics.share import Share

SPLITS = ("question_type", "answer_type", "level")
"""The fields of a query by which a run is split."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric over some queries."""

    mean: float | None
    """Mean over the scored queries, without failures. None if no query was scored."""
    mean_with_failures: float | None
    """Mean with every failed query as the metric's worst value (0, or 1 for a complement); None without queries."""
    scored: int
    """Number of queries with a score."""
    total: int
    """Number of queries to which the metric applies."""
    interval: tuple[float, float] | None
    """95 % score interval of ``mean``, of scores of 0 and 1 that of a ``Share``; None below two scored queries."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one query."""

    metrics: Mapping[str, float | None]
    """Metric -> score; None is not scored. A missing metric does not apply to the query (accuracy of an extractive
    question), so the query does not count in that metric's ``total``."""
    failed: bool = False
    """True if a phase of the query failed, so that missing scores count as failures."""
    groups: Mapping[str, str] | None = None
    """Field of ``SPLITS`` -> its value; "" belongs to no group."""
    failed_metrics: frozenset[str] = frozenset()
    """Metrics whose missing score counts as a failure although the query did not fail as a whole."""


def summarise(rows: Sequence[Scores], names: Sequence[str]) -> dict[str, Summary]:
    """Return metric -> summary, in the order of ``names``. Without rows all means are None."""
    return {
        name: _summary(
            name,
            [(row.metrics[name], row.failed or name in row.failed_metrics) for row in rows if name in row.metrics],
        )
        for name in names
    }


def _summary(name: str, values: Sequence[tuple[float | None, bool]]) -> Summary:
    worst = METRICS[name].worst if name in METRICS else 0.0
    scores = [value for value, _ in values if value is not None]
    # A query without a score that did not fail has no reference to score by.
    with_failures = [worst if value is None else value for value, failed in values if failed or value is not None]
    return Summary(
        mean=_mean(scores),
        mean_with_failures=_mean(with_failures),
        scored=len(scores),
        total=len(values),
        interval=_interval(scores) if len(scores) >= 2 else None,
    )


def _interval(scores: Sequence[float]) -> tuple[float, float]:
    share = Share(round(sum(scores)), len(scores)).interval if set(scores) <= {0.0, 1.0} else None
    low, high = share or bounds(np.array(scores, dtype=np.float64), tail=0.025)
    return round(low, 6), round(high, 6)


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None


def split(rows: Sequence[Scores], names: Sequence[str]) -> dict[str, dict[str, dict[str, Summary]]]:
    """Return field -> value -> metric -> summary. Fields without values are left out."""
    result: dict[str, dict[str, dict[str, Summary]]] = {}
    for field in SPLITS:
        groups: dict[str, list[Scores]] = {}
        for row in rows:
            if value := (row.groups or {}).get(field, ""):
                groups.setdefault(value, []).append(row)
        if groups:
            result[field] = {value: summarise(groups[value], names) for value in sorted(groups)}
    return result
