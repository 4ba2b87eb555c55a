"""Rank the runs over equal data by a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.runs.known_metrics import METRICS
from chatbot_mvp.runs.records import RAGAS
from chatbot_mvp.runs.search import Run, main_metric


@dataclass(frozen=True, slots=True)
class Field:
    """Runs over equal questions and documents, whose figures can therefore be ranked."""

    kind: str
    """"benchmark" or "ragas"."""
    dataset: str
    """Name of the data set; for evaluations of answers, the name in the newest run."""
    sha256: str
    queries: int | None
    documents: int | None
    runs: tuple[Run, ...]
    """Newest first."""

    @property
    def metrics(self) -> list[str]:
        """All metrics of the runs, the newest run's main metric first."""
        found = {name: None for run in self.runs for name in run["metrics"]}
        known = [name for name in METRICS if name in found]
        first = [name for name in [main_metric(self.runs[0])] if name]
        return list(dict.fromkeys([*first, *known, *found]))


@dataclass(frozen=True, slots=True)
class Place:
    """A run in a leaderboard."""

    rank: int | None
    """From 1; runs with equal values share the better rank. None for a run that was not scored."""
    run: Run
    value: float | None
    interval: tuple[float, float] | None
    """95 % interval of the run's own mean; None if the run's version did not record it."""
    scored: int
    total: int


def fields(runs: Sequence[Run]) -> list[Field]:
    """Group runs by the data that they measured, the group with the newest run first."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_measured(run), []).append(run)
    return [
        Field(
            kind=str(members[0].get("kind") or "benchmark"),
            dataset=str(members[0].get("dataset") or ""),
            sha256=str(members[0].get("dataset_sha256") or ""),
            queries=members[0].get("queries"),
            documents=members[0].get("documents"),
            runs=tuple(members),
        )
        for members in groups.values()
    ]


def _measured(run: Run) -> tuple[object, ...]:
    """Return a key that comparable runs share. For files of answers only the questions count, not the file name."""
    sha256, queries = run.get("dataset_sha256"), run.get("queries")
    if run.get("kind") == RAGAS:
        return RAGAS, sha256, queries
    return run.get("kind") or "benchmark", run.get("dataset"), sha256, queries, run.get("documents")


def leaderboard(field: Field, metric: str) -> list[Place]:
    """Rank the runs of a field that have a metric, best first; unscored ones last."""
    having = [run for run in field.runs if metric in run["metrics"]]
    spec = METRICS.get(metric)
    sign = -1 if spec is None or spec.higher_is_better else 1
    values = {id(run): run["metrics"][metric] for run in having}
    scored = sorted((run for run in having if values[id(run)] is not None), key=lambda run: sign * values[id(run)])
    places: list[Place] = []
    for position, run in enumerate(scored, 1):
        before = places[-1] if places else None
        rank = before.rank if before and before.value == values[id(run)] else position
        places.append(_place(rank, run, metric))
    return places + [_place(None, run, metric) for run in having if values[id(run)] is None]


def _place(rank: int | None, run: Run, metric: str) -> Place:
    scored, total = run.get("scored", {}).get(metric) or (0, run.get("queries") or 0)
    ends: Mapping[str, Sequence[float] | None] = run.get("intervals") or {}
    interval = ends.get(metric)
    return Place(rank, run, run["metrics"][metric], (interval[0], interval[1]) if interval else None, scored, total)
