"""The figures of a run: per metric the mean in both readings, its interval, how many were scored, and the splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.aggregate import aggregate
from chatbot_mvp.metrics.statistics.bootstrap import percentile_intervals

SPLITS = ("question_type", "answer_type", "level")
"""The fields of a query that a run is split by."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric over some queries."""

    mean: float | None
    """Over the scored queries: failures are left out. None when nothing was scored."""
    mean_with_failures: float | None
    """The same with every failed query as the metric's worst value (0, or 1 for a complement); None for no queries."""
    scored: int
    failed: int
    """Not scored because the query failed; the others that are not scored have nothing to be scored against."""
    total: int
    interval: tuple[float, float] | None
    """95 % percentile bootstrap of ``mean``; None below two scored queries."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "interval": list(self.interval) if self.interval else None}


@dataclass(frozen=True, slots=True)
class Scores:
    """What is summarised of one query."""

    metrics: Mapping[str, float | None]
    """None: not scored. A metric that is not in it does not apply to the query (accuracy, of an extractive question)
    and the query is none of that metric's ``total``."""
    failed: bool = False
    """A phase of it failed, so that a missing score is a failure."""
    groups: Mapping[str, str] | None = None
    """Field of ``SPLITS`` -> its value; "" is no group."""
    failed_metrics: frozenset[str] = frozenset()
    """Those whose missing score is a failure, in a query that did not fail as a whole."""


def summarise(rows: Sequence[Scores], names: Sequence[str]) -> dict[str, Summary]:
    """Metric -> its summary, in the order of ``names``; no rows give summaries of nothing."""
    values = np.array(
        [[np.nan if (v := row.metrics.get(name)) is None else v for name in names] for row in rows], dtype=np.float64
    ).reshape(len(rows), len(names))
    intervals = percentile_intervals(values)
    return {
        name: _summary(
            name,
            [(row.metrics[name], row.failed or name in row.failed_metrics) for row in rows if name in row.metrics],
            (float(intervals[column, 0]), float(intervals[column, 1])),
        )
        for column, name in enumerate(names)
    }


def _summary(name: str, values: Sequence[tuple[float | None, bool]], interval: tuple[float, float]) -> Summary:
    worst = METRICS[name].worst if name in METRICS else 0.0
    left_out = aggregate(value for value, _ in values)
    counted_in = aggregate(worst if value is None and failed else value for value, failed in values)
    return Summary(
        mean=left_out.mean,
        mean_with_failures=counted_in.mean,
        scored=left_out.scored,
        failed=counted_in.scored - left_out.scored,
        total=left_out.total,
        interval=interval if left_out.scored >= 2 else None,
    )


def split(rows: Sequence[Scores], names: Sequence[str]) -> dict[str, dict[str, dict[str, Summary]]]:
    """Field -> value -> metric -> summary; a field that no query has is left out."""
    result: dict[str, dict[str, dict[str, Summary]]] = {}
    for field in SPLITS:
        groups = _grouped(rows, field)
        if groups:
            result[field] = {value: summarise(groups[value], names) for value in sorted(groups)}
    return result


def _grouped(rows: Iterable[Scores], field: str) -> dict[str, list[Scores]]:
    groups: dict[str, list[Scores]] = {}
    for row in rows:
        if value := (row.groups or {}).get(field, ""):
            groups.setdefault(value, []).append(row)
    return groups
