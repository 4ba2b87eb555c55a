"""The one figure of runs with answers: how many questions each answered right, among those that all of them answered.

It is the figure that people ask for, it needs no judge, and unlike F1 it does not fall with each word around the
answer. It is derived from the scores of each question, so that runs of any version have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import percentile_intervals
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow


@dataclass(frozen=True, slots=True)
class Headline:
    """How many questions a run answered right."""

    run_id: str
    right: int
    """Yes/no questions with the right label, and others whose answer contains the reference word for word."""
    questions: int
    """Questions that are scored in all runs of the comparison."""
    interval: tuple[float, float] | None
    """95 % interval of the share, 0-1; None with fewer than two questions."""

    @property
    def share(self) -> float:
        """Right answers per question, 0-1."""
        return self.right / self.questions


def headlines(results: Sequence[RunResult]) -> tuple[Headline, ...]:
    """Return the figure of each run over the same questions; empty if a run has no answers to questions with a
    reference, or none that the others have.
    """
    if not all(result.generator for result in results):
        return ()
    scores = [
        {row.query_id: right for row in result.per_query if (right := _right(row)) is not None} for result in results
    ]
    shared = sorted(set.intersection(*map(set, scores)))
    if not shared:
        return ()
    columns = np.array([[side[key] for side in scores] for key in shared], dtype=np.float64)
    intervals = percentile_intervals(columns)
    return tuple(
        Headline(
            result.run_id,
            int(column.sum()),
            len(shared),
            None if np.isnan(ends).any() else (float(ends[0]), float(ends[1])),
        )
        for result, column, ends in zip(results, columns.T, intervals, strict=True)
    )


def _right(row: QueryRow) -> float | None:
    """Return 1.0 for a right answer, 0.0 for a wrong one; None if the question is not scored."""
    label = row.metrics.get("accuracy")
    return label if label is not None else row.metrics.get("answer_contains")
