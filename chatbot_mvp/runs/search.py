"""Search the list of finished runs, and determine the kind and main metric of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.kinds import BENCHMARK, RUN_KINDS
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.notes import NO_NOTE, RunNote
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


def kind_of(run: RunLine) -> str:
    """Return the kind of a run in lists."""
    if run.kind != BENCHMARK:
        return run.kind
    return "answers" if run.generator else "retrieval"


def main_metric(run: RunLine) -> str:
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
    text = fold(" ".join([*of_run, data, *note.tags, note.note]))
    return all(word in text for word in words)
