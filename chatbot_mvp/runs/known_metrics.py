"""The metrics by which runs are compared, and the score of a question that failed."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.spec import shown_in
from chatbot_mvp.plugins.registry import Names
from chatbot_mvp.runs.rows import QueryRow

COMPARED: Sequence[str] = Names(lambda: shown_in("compared", METRICS))
"""Names of the metrics by which runs are compared by default."""


def has_failed(row: QueryRow) -> bool:
    """Return whether any part of a question failed."""
    return row.failed or row.judge_failed or bool(row.failed_metrics)


def score_of(row: QueryRow, metric: str) -> float | None:
    """Return the score of a question; the metric's worst score if the question failed, None if it is not scored."""
    value = row.metrics.get(metric)
    if value is None and metric in row.metrics and (has_failed(row) or metric in row.failed_metrics):
        return METRICS[metric].worst
    return value
