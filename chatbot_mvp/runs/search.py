"""Search the list of finished runs, and determine the kind and main metric of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from chatbot_mvp.runs.known_metrics import METRICS
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.notes import NO_NOTE, RunNote
from chatbot_mvp.runs.result import KB, RAGAS
from chatbot_mvp.text import fold

RunKind = Literal["retrieval", "answers", "kb", "ragas"]
RUN_KINDS: tuple[RunKind, ...] = ("retrieval", "answers", "kb", "ragas")
"""Retrieval only, retrieval with answers, questions about a knowledge base, evaluation of given answers."""

_MAIN: dict[RunKind, tuple[str, ...]] = {
    "retrieval": ("recall@5", "ndcg@10", "mrr"),
    "answers": ("generation_score", "semantic_similarity", "recall@5"),
    "kb": ("hit@3", "accepted", "refused"),
    "ragas": (),
}


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs. Empty fields set no condition."""

    text: str = ""
    """Words that must all occur in the run's data set, strategy, models, id, date, tags or note; case and accents are
    ignored."""
    datasets: tuple[str, ...] = ()
    kinds: tuple[RunKind, ...] = ()
    tags: tuple[str, ...] = ()
    """Tags that the run must have, all of them."""


def kind_of(run: RunLine) -> RunKind:
    """Return the kind of a run."""
    if run.kind == RAGAS:
        return "ragas"
    if run.kind == KB:
        return "kb"
    return "answers" if run.generator else "retrieval"


def main_metric(run: RunLine) -> str:
    """Return the metric that lists show for a run: its kind's main metric, else the first scored one; "" if none."""
    metrics = run.metrics
    ordered = [*_MAIN[kind_of(run)], *(name for name in METRICS if name in metrics), *metrics]
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
