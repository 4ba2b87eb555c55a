"""Rank runs on the same data by a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.search import main_metric


@dataclass(frozen=True, slots=True)
class Field:
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
class Place:
    """A run in a leaderboard."""

    rank: int | None
    """From 1; runs with equal values share the better rank. None for a run that was not scored."""
    run: RunLine
    value: float | None
    interval: tuple[float, float] | None
    """95 % interval of the run's own mean; None with fewer than two scored queries."""
    scored: int
    total: int


def fields(runs: Sequence[RunLine]) -> list[Field]:
    """Group runs by the data that they measured, the group with the newest run first."""
    groups: dict[tuple[object, ...], list[RunLine]] = {}
    for run in runs:
        groups.setdefault(_measured(run), []).append(run)
    return [
        Field(
            kind=members[0].kind,
            dataset=members[0].dataset,
            sha256=members[0].dataset_sha256,
            queries=members[0].queries,
            documents=members[0].documents,
            runs=tuple(members),
        )
        for members in groups.values()
    ]


def _measured(run: RunLine) -> tuple[object, ...]:
    """Return a key that is equal for comparable runs. Files and sets of questions count by content, not by name."""
    if run_kind(run.kind).same_data_by_content:
        return run.kind, run.dataset_sha256, run.queries
    return run.kind, run.dataset, run.dataset_sha256, run.queries, run.documents


def leaderboard(field: Field, metric: str) -> list[Place]:
    """Rank the runs of a field that have a metric, best first; unscored ones last."""
    having = [run for run in field.runs if metric in run.metrics]
    spec = METRICS.get(metric)
    sign = -1 if spec is None or spec.higher_is_better else 1
    scored = [(value, run) for run in having if (value := run.metrics[metric]) is not None]
    scored.sort(key=lambda pair: sign * pair[0])
    places: list[Place] = []
    for position, (value, run) in enumerate(scored, 1):
        before = places[-1] if places else None
        rank = before.rank if before and before.value == value else position
        places.append(_place(rank, run, metric))
    return places + [_place(None, run, metric) for run in having if run.metrics[metric] is None]


def _place(rank: int | None, run: RunLine, metric: str) -> Place:
    scored, total = run.scored.get(metric, (0, run.queries))
    return Place(rank, run, run.metrics[metric], run.intervals.get(metric), scored, total)
