"""Lists of finished runs: searched, ranked on the same data, and over time with the first one out of the band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from statistics import median
from typing import Any

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.kinds import BENCHMARK, RUN_KINDS, run_kind
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.notes import NO_NOTE, RunNote
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Interval
from chatbot_mvp.text import fold


@cache
def listed_kinds() -> dict[str, tuple[str, ...]]:
    """Return kind of run in lists -> its main metrics, best first. Lists tell benchmarks with answers from those
    without: "answers" and "retrieval"."""
    return {listed: names for kind in RUN_KINDS.values() for listed, names in kind.main_metrics.items()}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs. Empty fields set no condition."""

    text: str = ""
    """Words that must all occur in the run's data set, strategy, models, id, date, tags or note; case and accents are
    ignored."""
    datasets: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Kinds as in ``listed_kinds``."""
    tags: tuple[str, ...] = ()
    """Tags that the run must have, all of them."""


def kind_of(run: RunLine | RunResult) -> str:
    """Return the kind of a run in lists."""
    if run.kind != BENCHMARK:
        return run.kind
    return "answers" if run.generator else "retrieval"


def main_metric(run: RunLine | RunResult) -> str:
    """Return the metric that lists show for a run: its kind's main metric, else the first scored one; "" if none."""
    metrics = run.metrics
    ordered = [*listed_kinds().get(kind_of(run), ()), *(name for name in METRICS if name in metrics), *metrics]
    scored = [name for name in ordered if metrics.get(name) is not None]
    return next(iter(scored or (name for name in ordered if name in metrics)), "")


def search(
    runs: Sequence[RunLine],
    notes: Mapping[str, RunNote],
    asked: RunFilter,
    data_name: Callable[[RunLine], str] = attrgetter("dataset"),
) -> list[RunLine]:
    """Return the runs that match the filter, in their order.

    Args:
        data_name: name under which the data of a run is shown; its words are searched, too.
    """
    words = fold(asked.text).split()
    tags = {fold(tag) for tag in asked.tags}
    return [
        run
        for run in runs
        if (not asked.datasets or run.dataset in asked.datasets)
        and (not asked.kinds or kind_of(run) in asked.kinds)
        and tags <= {fold(tag) for tag in notes.get(run.run_id, NO_NOTE).tags}
        and _has(run, notes.get(run.run_id, NO_NOTE), data_name(run), words)
    ]


def _has(run: RunLine, note: RunNote, data: str, words: Iterable[str]) -> bool:
    of_run = (run.run_id, run.dataset, run.strategy, run.generator, run.judge, run.fingerprint, run.started_at)
    text = fold(" ".join([*of_run, run.chat_model, data, *note.tags, note.note]))
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class RunGroup:
    """A group of runs on the same questions and documents, so that their figures can be ranked."""

    kind: str
    """As in ``RunLine``."""
    dataset: str
    """Name of the data set; if its content counts and not its name, the name in the newest run."""
    sha256: str
    queries: int
    documents: int
    runs: tuple[RunLine, ...]
    """Newest first."""

    @property
    def metrics(self) -> list[str]:
        """All metrics of the runs, the newest run's main metric first."""
        found = {name: None for run in self.runs for name in run.metrics}
        first = main_metric(self.runs[0])
        return list(dict.fromkeys([*([first] if first else []), *(name for name in METRICS if name in found), *found]))


@dataclass(frozen=True, slots=True)
class RankedRun:
    """A run in a leaderboard."""

    rank: int | None
    """From 1; runs with equal values share the better rank. None for a run that was not scored."""
    run: RunLine
    value: float | None
    interval: tuple[float, float] | None
    """95 % interval of the run's own mean; None with fewer than two scored queries."""
    scored: int
    total: int


def run_groups(runs: Sequence[RunLine]) -> list[RunGroup]:
    """Group runs by the data that they measured, the group with the newest run first."""
    groups: dict[tuple[object, ...], list[RunLine]] = {}
    for run in runs:
        groups.setdefault(_measured(run), []).append(run)
    return [
        RunGroup(one.kind, one.dataset, one.dataset_sha256, one.queries, one.documents, tuple(members))
        for one, members in ((members[0], members) for members in groups.values())
    ]


def _measured(run: RunLine) -> tuple[object, ...]:
    """Return a key that is equal for comparable runs. Files and sets of questions count by content, not by name."""
    if run_kind(run.kind).same_data_by_content:
        return run.kind, run.dataset_sha256, run.queries
    return run.kind, run.dataset, run.dataset_sha256, run.queries, run.documents


def leaderboard(group: RunGroup, metric: str) -> list[RankedRun]:
    """Rank the runs of a group that have a metric, best first; unscored ones last."""
    having = [run for run in group.runs if metric in run.metrics]
    spec = METRICS.get(metric)
    sign = -1 if spec is None or spec.higher_is_better else 1
    scored = [(value, run) for run in having if (value := run.metrics[metric]) is not None]
    scored.sort(key=lambda pair: sign * pair[0])
    places: list[RankedRun] = []
    for position, (value, run) in enumerate(scored, 1):
        before = places[-1] if places else None
        rank = before.rank if before and before.value == value else position
        places.append(_place(rank, run, metric))
    return places + [_place(None, run, metric) for run in having if run.metrics[metric] is None]


def _place(rank: int | None, run: RunLine, metric: str) -> RankedRun:
    scored, total = run.scored.get(metric, (0, run.queries))
    return RankedRun(rank, run, run.metrics[metric], run.intervals.get(metric), scored, total)


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
    system: str
    """As in ``RunLine``."""
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
                system=run.system,
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
