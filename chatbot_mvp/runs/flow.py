"""How far the relevant documents of a run's questions came, stage by stage, and what was answered then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.runs.causes import Cause, Fate, GoldPath
from chatbot_mvp.runs.rows import QueryRow

STAGES = ("found", "ranked", "context")
"""found: among the candidates of a retriever. ranked: high enough for the context. context: in it."""
_LAST = {
    Fate.NOT_FOUND: 0,
    Fate.LOST_IN_FUSION: 1,
    Fate.BELOW_CUT: 1,
    Fate.LOST_IN_RERANKING: 1,
    Fate.LEFT_OUT: 2,
    Fate.IN_CONTEXT: 3,
}
"""Fate of a document -> number of stages that it passed."""
OUTCOMES = ("right", "wrong", "answered", "declined", "unknown")


@dataclass(frozen=True, slots=True)
class Flow:
    """The questions of a run that have relevant documents, counted by their way."""

    ways: Mapping[tuple[int, str], int]
    """(number of ``STAGES`` that all relevant documents passed, outcome) -> questions. The outcome is one of
    ``OUTCOMES``, "" in a run that neither answers nor decides whether to answer."""
    left_out: int
    """Questions without a relevant document, or whose retrieval failed."""

    @property
    def total(self) -> int:
        return sum(self.ways.values())


def flow_of(questions: Iterable[tuple[QueryRow, Sequence[GoldPath]]], answered: bool) -> Flow:
    """Count the ways of questions, each with the paths of its relevant documents.

    Args:
        answered: whether the run has answers; without, strict mode's decision is the outcome, if there is one.
    """
    ways: Counter[tuple[int, str]] = Counter()
    left_out = 0
    for row, paths in questions:
        if not paths or (row.failed and not row.retrieved):
            left_out += 1
            continue
        ways[min(_LAST[path.fate] for path in paths), _outcome(row, answered)] += 1
    return Flow(dict(ways), left_out)


def _outcome(row: QueryRow, answered: bool) -> str:
    if answered:
        if row.response is None or row.cause in (Cause.JUDGE_FAILED, Cause.NOT_SCORED):
            return "unknown"
        if row.cause == Cause.OK:
            return "right"
        return "declined" if row.abstained else "wrong"
    accepted = row.metrics.get("accepted")
    return "" if accepted is None else "answered" if accepted else "declined"
