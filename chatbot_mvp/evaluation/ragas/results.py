"""From the scores of an evaluation to its result, and to the rows as they came with a column more per metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from chatbot_mvp.evaluation.ragas.preparation import Evaluation
from chatbot_mvp.evaluation.ragas.rows import InputRow, to_csv, to_json_lines
from chatbot_mvp.judges.agreement import Agreement, judge_agreement, labelled_row, spread
from chatbot_mvp.runs.figures import result_of_rows
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Detail, MetricSpread, QueryRow, RowSpread
from chatbot_mvp.storage.files import write_atomically

FAITHFULNESS_METRICS = ("ragas_faithfulness", "lexical_faithfulness")
"""Those that are held against people's labels, where the rows have a column ``label``."""


def phase_of(metric: str, repeat: int) -> str:
    """Under which a score of the repetition ``repeat``, from 0, is recorded: the metric's name, "#2" for the second."""
    return metric if repeat == 0 else f"{metric}#{repeat + 1}"


def phases_of(metrics: Sequence[str], repeats: int) -> list[str]:
    """All of an evaluation, in the order in which they are scored."""
    return [phase_of(metric, repeat) for metric in metrics for repeat in range(repeats)]


def scores_of(evaluation: Evaluation, journal: Journal, metric: str, row_id: str) -> list[QueryRecord]:
    """What is recorded of a metric for a row, by repetition."""
    phases = phases_of([metric], evaluation.config.repeats)
    return [record for phase in phases if (record := journal.of(phase).get(row_id))]


def result_of(evaluation: Evaluation, journal: Journal) -> RunResult:
    """``<run_id>.json`` but for what only the attempt knows. Works on a part of the scores as well."""
    rows = [_row(evaluation, journal, item) for item in evaluation.rows]
    failures = {metric: count for metric in evaluation.metrics if (count := _failed(rows, metric))}
    return replace(
        result_of_rows(evaluation.manifest, rows, journal.damaged, failures),
        language=evaluation.prompts.language,
        repeats=evaluation.config.repeats,
        not_scored=_reasons(rows),
        spread=_spread(rows),
        agreement=_agreement(evaluation, rows),
    )


def _row(evaluation: Evaluation, journal: Journal, item: InputRow) -> QueryRow:
    metrics: dict[str, float | None] = {}
    status: dict[str, str] = {}
    failed: list[str] = []
    spreads: dict[str, RowSpread] = {}
    details: dict[str, Detail] = {}
    for metric in evaluation.metrics:
        records = scores_of(evaluation, journal, metric, item.row_id)
        values = [record.payload.get("value") for record in records]
        known = [value for value in values if value is not None]
        metrics[metric] = fmean(known) if known else None
        if known:
            status[metric] = "ok"
            details[metric] = records[0].payload.get("detail", {})
        elif records:
            reason = records[-1].payload.get("reason") or records[-1].payload.get("code", "")
            status[metric] = f"not_scored: {reason}"
            details[metric] = {name: records[-1].payload.get(name, "") for name in ("problem", "raw")}
        else:
            status[metric] = "not_scored: pending"
        if any(record.status == "failed" for record in records):
            failed.append(metric)
        if len(values) > 1:
            found = spread(values)
            spreads[metric] = RowSpread(found.deviation, found.low, found.high)
    return QueryRow(
        query_id=item.row_id,
        question=item.row.user_input or "",
        answer=item.row.reference or "",
        response=item.row.response,
        metrics=metrics,
        status=status,
        details=details,
        failed_metrics=tuple(failed),
        spread=spreads,
    )


def _failed(rows: Sequence[QueryRow], metric: str) -> int:
    return sum(metric in row.failed_metrics for row in rows)


def _reasons(rows: Sequence[QueryRow]) -> dict[str, dict[str, int]]:
    """Metric -> reason -> rows without a score for it."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        for metric, status in row.status.items():
            if status != "ok":
                reasons = found.setdefault(metric, {})
                reason = status.partition(": ")[2]
                reasons[reason] = reasons.get(reason, 0) + 1
    return found


def _spread(rows: Sequence[QueryRow]) -> dict[str, MetricSpread]:
    """Metric -> how much its scores of a row differ between repetitions; empty for a single one."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for metric, values in row.spread.items():
            if values.deviation is not None:
                found.setdefault(metric, []).append(values.deviation)
    return {metric: MetricSpread(fmean(values), len(values)) for metric, values in found.items()}


def _agreement(evaluation: Evaluation, rows: Sequence[QueryRow]) -> dict[str, Agreement]:
    """Metric -> how far it agrees with people; empty where no row has a label."""
    labelled = [
        (label, row)
        for item, row in zip(evaluation.rows, rows, strict=True)
        if (label := labelled_row(item.row_id, item.row, item.given)) is not None
    ]
    if not labelled:
        return {}
    labels = [label for label, _ in labelled]
    return {
        metric: judge_agreement(labels, [row.metrics[metric] for _, row in labelled])
        for metric in FAITHFULNESS_METRICS
        if metric in evaluation.metrics
    }


def scored_rows(evaluation: Evaluation, result: RunResult) -> list[dict[str, Any]]:
    """The rows as they came, each with ``<metric>`` and ``<metric>_status``."""
    rows = []
    for item, row in zip(evaluation.rows, result.per_query, strict=True):
        columns: dict[str, Any] = dict(item.given)
        for metric in evaluation.metrics:
            columns[metric] = row.metrics[metric]
            columns[f"{metric}_status"] = row.status[metric]
        rows.append(columns)
    return rows


def write_outputs(evaluation: Evaluation, result: RunResult) -> None:
    """``<run_id>_scores.jsonl`` and ``<run_id>_scores.csv`` in the run's folder."""
    rows = scored_rows(evaluation, result)
    stem = evaluation.folder.path / f"{evaluation.folder.run_id}_scores"
    write_atomically(stem.with_suffix(".jsonl"), to_json_lines(rows))
    write_atomically(stem.with_suffix(".csv"), to_csv(rows))
