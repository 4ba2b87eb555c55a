"""Compute the metrics of a query's row, and the aggregated figures of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.metrics.ranking.generation_context import reranker_rescue_count
from chatbot_mvp.metrics.registry import METRICS, metrics_of
from chatbot_mvp.metrics.statistics.summary import SPLITS, Scores, Summary, split, summarise
from chatbot_mvp.runs.causes import Cause

Row = Mapping[str, Any]


def context_metrics(context: Sequence[str] | None, qrels: Mapping[str, int]) -> dict[str, float | None]:
    """Compute the metrics of the generator's context; empty without a reranker (``context`` is None)."""
    return {} if context is None else {name: spec.score(context, qrels) for name, spec in metrics_of("context").items()}


def answer_metrics(case: AnswerCase) -> dict[str, float | None]:
    """Compute the answer metrics that apply to the kind of question; all None if there is no answer."""
    specs = metrics_of("answer").items()
    return {name: spec.score(case) for name, spec in specs if spec.applies_to(case.is_label)}


def run_figures(per_query: Sequence[Row]) -> dict[str, Any]:
    """Compute the aggregates of ``<run_id>.json``, for all metrics that occur in the rows.

    Returns:
        ``metrics`` (mean over the scored queries), ``scored`` ([scored, total]), ``readings`` ([failures left out,
        failures as the worst value]), ``intervals`` ([low, high] or None), ``splits`` (field -> value -> metric ->
        mean, scored, total, interval), ``causes`` (cause -> queries), and ``reranker_rescue_count`` of a reranked run.
    """
    found = {name for row in per_query for name in row["metrics"]}
    names = [name for name in METRICS if name in found]
    rows = [Scores(row["metrics"], _lacks(row), {field: row.get(field) or "" for field in SPLITS}) for row in per_query]
    totals = summarise(rows, names)
    causes = Counter(row["cause"] for row in per_query if "cause" in row)
    figures = {
        "metrics": {name: total.mean for name, total in totals.items()},
        "scored": {name: [total.scored, total.total] for name, total in totals.items()},
        "readings": {name: [total.mean, total.mean_with_failures] for name, total in totals.items()},
        "intervals": {name: _pair(total) for name, total in totals.items()},
        "splits": {
            field: {
                value: {name: _cell(total) for name, total in summaries.items()} for value, summaries in groups.items()
            }
            for field, groups in split(rows, names).items()
        },
        "causes": {cause.value: causes[cause.value] for cause in Cause},
    }
    reranked = [row for row in per_query if row.get("reranked") is not None]
    if reranked:
        figures["reranker_rescue_count"] = reranker_rescue_count(
            (row["retrieved"], row["generation_doc_ids"], dict.fromkeys(row["gold"], 1)) for row in reranked
        )
    return figures


def _lacks(row: Row) -> bool:
    """Return whether the row's missing scores count as failures."""
    return bool(row.get("failed") or row.get("judge_failed"))


def _pair(summary: Summary) -> list[float] | None:
    return None if summary.interval is None else list(summary.interval)


def _cell(summary: Summary) -> dict[str, Any]:
    return {
        "mean": summary.mean,
        "scored": summary.scored,
        "total": summary.total,
        "interval": _pair(summary),
    }
