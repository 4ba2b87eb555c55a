"""The history of a data set or knowledge base: its runs over time, and the first one that fell out of the band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.rows import Interval
from chatbot_mvp.runs.search import main_metric


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of one kind on one data set or knowledge base with its questions."""

    kind: str
    dataset: str
    runs: tuple[RunLine, ...]
    """Oldest first."""

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics that a run scored, the newest run's main metric first."""
        scored = {name for run in self.runs for name, value in run.metrics.items() if value is not None}
        first = main_metric(self.runs[-1])
        return [*([first] if first in scored else []), *(name for name in METRICS if name in scored - {first})]


@dataclass(frozen=True, slots=True)
class Point:
    """One run in a history."""

    run_id: str
    started_at: str
    """ISO 8601, UTC."""
    strategy: str
    fingerprint: str
    value: float
    interval: Interval | None
    """95 % interval of the run's own mean; None if its version did not record it."""
    configuration_changed: bool
    """Whether the fingerprint differs from the previous run's."""
    data_changed: bool
    """Whether documents or questions differ from the previous run's. The band begins anew there."""
    band: Interval | None
    """Medians of the lower and of the upper ends of the intervals of earlier runs on the same data; None without."""
    outside: bool
    """Whether the value is worse than the band."""


@dataclass(frozen=True, slots=True)
class History:
    """One metric of a series over time."""

    kind: str
    dataset: str
    metric: str
    points: tuple[Point, ...]
    """Oldest first. Runs that did not score the metric are left out."""

    @property
    def first_outside(self) -> Point | None:
        """The first run that fell out of the band of the runs before it; None if none did."""
        return next((point for point in self.points if point.outside), None)

    def to_json(self) -> dict[str, Any]:
        """Return the history as a JSON object."""
        first = self.first_outside
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "metric": self.metric,
            "first_outside": first.run_id if first else None,
            "points": [{name: getattr(point, name) for name in Point.__slots__} for point in self.points],
        }


def series_of(runs: Sequence[RunLine]) -> list[Series]:
    """Group runs by kind and name of their data, the group with the newest run first.

    Args:
        runs: newest first.
    """
    groups: dict[tuple[str, str], list[RunLine]] = {}
    for run in runs:
        groups.setdefault((run.kind, run.dataset), []).append(run)
    return [Series(kind, dataset, tuple(reversed(members))) for (kind, dataset), members in groups.items()]


def history_of(series: Series, metric: str) -> History:
    """Return the history of one metric."""
    spec = METRICS.get(metric)
    higher = spec is None or spec.higher_is_better
    intervals: dict[tuple[str, int | None], list[Interval]] = {}
    points: list[Point] = []
    before: RunLine | None = None
    for run in series.runs:
        value = run.metrics.get(metric)
        if value is None:
            continue
        data = (run.dataset_sha256, run.queries)
        earlier = intervals.setdefault(data, [])
        band = (median(low for low, _ in earlier), median(high for _, high in earlier)) if earlier else None
        interval = run.intervals.get(metric)
        points.append(
            Point(
                run_id=run.run_id,
                started_at=run.started_at,
                strategy=run.strategy,
                fingerprint=run.fingerprint,
                value=value,
                interval=interval,
                configuration_changed=before is not None and before.fingerprint != run.fingerprint,
                data_changed=before is not None and (before.dataset_sha256, before.queries) != data,
                band=band,
                outside=band is not None and (value < band[0] if higher else value > band[1]),
            )
        )
        earlier.append(interval or (value, value))
        before = run
    return History(series.kind, series.dataset, metric, tuple(points))
