"""From the scores of an evaluation to its result, and to the rows as they came with a column more per metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from chatbot_mvp.evaluation.ragas.preparation import Evaluation
from chatbot_mvp.evaluation.ragas.rows import InputRow, to_csv, to_json_lines
from chatbot_mvp.judges.agreement import judge_agreement, labelled_row, spread
from chatbot_mvp.runs.figures import run_figures
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import RAGAS, QueryRecord
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


def result_of(evaluation: Evaluation, journal: Journal) -> dict[str, Any]:
    """``<run_id>.json`` but for what only the attempt knows. Works on a part of the scores as well."""
    manifest = evaluation.manifest
    rows = [_row(evaluation, journal, item) for item in evaluation.rows]
    result: dict[str, Any] = {
        "run_id": manifest.run_id,
        "kind": RAGAS,
        "dataset": manifest.dataset,
        "dataset_sha256": manifest.dataset_sha256,
        "strategy": manifest.strategy,
        "fingerprint": manifest.fingerprint,
        "queries": manifest.queries,
        "documents": manifest.documents,
        "started_at": manifest.started_at,
        "generator": "",
        "judge": manifest.judge,
        "language": evaluation.prompts.language,
        "repeats": evaluation.config.repeats,
        **run_figures(rows),
        "damaged_records": journal.damaged,
        "failures": {metric: count for metric in evaluation.metrics if (count := _failed(rows, metric))},
        "not_scored": _reasons(rows),
        "per_query": rows,
    }
    if evaluation.config.repeats > 1:
        result["spread"] = _spread(rows)
    if agreement := _agreement(evaluation, rows):
        result["agreement"] = agreement
    return result


def _row(evaluation: Evaluation, journal: Journal, item: InputRow) -> dict[str, Any]:
    metrics: dict[str, float | None] = {}
    status: dict[str, str] = {}
    failed, spreads, details = [], {}, {}
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
            spreads[metric] = {"deviation": found.deviation, "low": found.low, "high": found.high}
    row: dict[str, Any] = {
        "query_id": item.row_id,
        "question": item.row.user_input or "",
        "answer": item.row.reference or "",
        "answer_type": "",
        "question_type": "",
        "level": "",
        "response": item.row.response,
        "metrics": metrics,
        "status": status,
        "details": details,
        "retrieved": [],
        "gold": [],
    }
    if failed:
        row["failed_metrics"] = failed
    if spreads:
        row["spread"] = spreads
    return row


def _failed(rows: list[dict[str, Any]], metric: str) -> int:
    return sum(metric in row.get("failed_metrics", ()) for row in rows)


def _reasons(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Metric -> reason -> rows without a score for it."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        for metric, status in row["status"].items():
            if status != "ok":
                reasons = found.setdefault(metric, {})
                reason = status.partition(": ")[2]
                reasons[reason] = reasons.get(reason, 0) + 1
    return found


def _spread(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Metric -> mean standard deviation of a row's score over its repetitions, and of how many rows."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for metric, values in row.get("spread", {}).items():
            if values["deviation"] is not None:
                found.setdefault(metric, []).append(values["deviation"])
    return {metric: {"deviation": fmean(values), "rows": len(values)} for metric, values in found.items()}


def _agreement(evaluation: Evaluation, rows: list[dict[str, Any]]) -> dict[str, Any]:
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
        metric: judge_agreement(labels, [row["metrics"][metric] for _, row in labelled]).to_json()
        for metric in FAITHFULNESS_METRICS
        if metric in evaluation.metrics
    }


def scored_rows(evaluation: Evaluation, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows as they came, each with ``<metric>`` and ``<metric>_status``."""
    rows = []
    for item, row in zip(evaluation.rows, result["per_query"], strict=True):
        columns: dict[str, Any] = dict(item.given)
        for metric in evaluation.metrics:
            columns[metric] = row["metrics"][metric]
            columns[f"{metric}_status"] = row["status"][metric]
        rows.append(columns)
    return rows


def write_outputs(evaluation: Evaluation, result: Mapping[str, Any]) -> None:
    """``<run_id>_scores.jsonl`` and ``<run_id>_scores.csv`` in the run's folder."""
    rows = scored_rows(evaluation, result)
    stem = evaluation.folder.path / f"{evaluation.folder.run_id}_scores"
    write_atomically(stem.with_suffix(".jsonl"), to_json_lines(rows))
    write_atomically(stem.with_suffix(".csv"), to_csv(rows))
