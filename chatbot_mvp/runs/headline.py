"""The one figure of a run; of runs with answers, how many questions each answered right, among those that all answered.

It is the figure that people ask for, it needs no judge, and unlike F1 it does not fall with each word around the
answer. It is derived from the scores of each question, so that runs of any version have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow

_ANSWERS = ("accuracy", "answer_contains")
"""The metrics of right answers: of yes/no questions, and of all others."""


@dataclass(frozen=True, slots=True)
class Headline:
    """How many questions a run answered right."""

    run_id: str
    right: Share
    """Of the questions that are scored in all runs of the comparison: those of a knowledge base to which the chat says
    the right thing; else yes/no questions with the right label, and others whose answer contains the reference word for
    word."""


def headlines(results: Sequence[RunResult]) -> tuple[Headline, ...]:
    """Return the figure of each run over the same questions; empty if a run has no answers to questions with a
    reference, or none that the others have.
    """
    # Of a knowledge base's questions, what the chat makes of each; its people rarely wrote a short answer.
    chat = all("solved" in result.metrics for result in results)
    if not chat and not all(result.generator for result in results):
        return ()
    scores = [
        {row.query_id: right for row in result.per_query if (right := _right(row, chat)) is not None}
        for result in results
    ]
    shared = sorted(set.intersection(*map(set, scores)))
    if not shared:
        return ()
    return tuple(
        Headline(result.run_id, Share(round(sum(side[key] for key in shared)), len(shared)))
        for result, side in zip(results, scores, strict=True)
    )


def main_share(run: RunLine | RunResult) -> tuple[str, Share] | None:
    """Return what people are told of a run, wherever they are told of it: its name, and of how many questions it holds.

    The name is "solved" of questions about a knowledge base, "right" as in ``Headline`` of other answers, and "hit@1"
    where nothing was answered. None if the run scored none of that.
    """
    shares = {
        name: Share(round(value * run.scored[name][0]), run.scored[name][0])
        for name in ("solved", *_ANSWERS, "hit@1")
        if (value := run.metrics.get(name)) is not None and name in run.scored
    }
    answers = [shares[name] for name in _ANSWERS if name in shares]
    if run.generator and answers and "solved" not in shares:
        return "right", Share(sum(one.count for one in answers), sum(one.total for one in answers))
    return next(((name, shares[name]) for name in ("solved", "hit@1") if name in shares), None)


def _right(row: QueryRow, chat: bool) -> float | None:
    """Return 1.0 for a right answer, 0.0 for a wrong one; None if the question is not scored.

    Args:
        chat: whether what the chat says to it counts, and not what a model writes over the passages.
    """
    if chat:
        return row.metrics.get("solved")
    label = row.metrics.get("accuracy")
    return label if label is not None else row.metrics.get("answer_contains")
