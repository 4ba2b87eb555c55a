"""Search the list of finished runs, and tell each run's kind and main metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.runs.known_metrics import METRICS
from chatbot_mvp.runs.notes import NO_NOTE, RunNote
from chatbot_mvp.runs.records import RAGAS
from chatbot_mvp.text import fold

Run = Mapping[str, Any]
"""A line of ``submissions.jsonl``. Lines of other versions may lack any field except ``run_id`` and ``metrics``."""
RunKind = Literal["retrieval", "answers", "ragas"]
RUN_KINDS: tuple[RunKind, ...] = ("retrieval", "answers", "ragas")
"""Retrieval only, retrieval with answers, evaluation of given answers."""

_MAIN: dict[RunKind, tuple[str, ...]] = {
    "retrieval": ("recall@5", "ndcg@10", "mrr"),
    "answers": ("generation_score", "semantic_similarity", "recall@5"),
    "ragas": (),
}
_SEARCHED = ("run_id", "dataset", "strategy", "generator", "judge", "fingerprint", "started_at")


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


def kind_of(run: Run) -> RunKind:
    """Return the kind of a run."""
    if run.get("kind") == RAGAS:
        return "ragas"
    return "answers" if run.get("generator") else "retrieval"


def main_metric(run: Run) -> str:
    """Return the metric that lists show for a run: its kind's main metric, else the first scored one; "" if none."""
    metrics = run["metrics"]
    ordered = [*_MAIN[kind_of(run)], *(name for name in METRICS if name in metrics), *metrics]
    scored = [name for name in ordered if metrics.get(name) is not None]
    return next(iter(scored or (name for name in ordered if name in metrics)), "")


def search(runs: Sequence[Run], notes: Mapping[str, RunNote], asked: RunFilter) -> list[Run]:
    """Return the runs that match the filter, in their order."""
    words = fold(asked.text).split()
    tags = {fold(tag) for tag in asked.tags}
    return [
        run
        for run in runs
        if (not asked.datasets or run.get("dataset") in asked.datasets)
        and (not asked.kinds or kind_of(run) in asked.kinds)
        and tags <= {fold(tag) for tag in notes.get(run["run_id"], NO_NOTE).tags}
        and _has(run, notes.get(run["run_id"], NO_NOTE), words)
    ]


def _has(run: Run, note: RunNote, words: Iterable[str]) -> bool:
    text = fold(" ".join([*(str(run.get(field) or "") for field in _SEARCHED), *note.tags, note.note]))
    return all(word in text for word in words)
