"""Compute the result of an evaluation from its scores, and write the input rows with score columns added."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from chatbot_mvp.runs.figures import result_of_rows
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Agreement, Detail, MetricSpread, QueryRow, RowSpread
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.wings.ragas.judging import column_of
from chatbot_mvp.wings.ragas.judging.agreement import judge_agreement, label_of, spread
from chatbot_mvp.wings.ragas.kind import phases_of
from chatbot_mvp.wings.ragas.preparation import Evaluation
from chatbot_mvp.wings.ragas.rows import InputRow, to_csv, to_json_lines

FAITHFULNESS_METRICS = ("ragas_faithfulness", "lexical_faithfulness")
"""Metrics that are compared with human labels if the rows have a column ``label``."""

_UNSAFE = re.compile(r"[^\w.-]+")


def result_of(evaluation: Evaluation, journal: Journal) -> RunResult:
    """Return the result without what is not in the records, such as seconds. Also works while scores are missing."""
    rows = [_row(evaluation, journal, item) for item in evaluation.rows]
    counted = Counter(metric for row in rows for metric in row.failed_metrics)
    failures = {metric: counted[metric] for metric in evaluation.metrics if counted[metric]}
    return replace(
        result_of_rows(evaluation.manifest, rows, journal.damaged, failures),
        repeats=evaluation.config.repeats,
        language=evaluation.prompts.language,
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
        phases = phases_of([metric], evaluation.config.repeats)
        records = [record for phase in phases if (record := journal.of(phase).get(item.row_id))]
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
            spreads[metric] = spread(values)
    return QueryRow(
        query_id=item.row_id,
        question=item.row.user_input or "",
        answer=item.row.reference or "",
        answer_type="",
        question_type="",
        level="",
        retrieved=(),
        gold=(),
        response=item.row.response,
        metrics=metrics,
        status=status,
        details=details,
        failed_metrics=tuple(failed),
        spread=spreads,
    )


def _reasons(rows: Sequence[QueryRow]) -> dict[str, dict[str, int]]:
    """Return metric -> reason -> number of rows that have no score for this reason."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for metric, status in row.status.items():
            if status != "ok":
                found.setdefault(metric, Counter())[status.partition(": ")[2]] += 1
    return {metric: dict(reasons) for metric, reasons in found.items()}


def _spread(rows: Sequence[QueryRow]) -> dict[str, MetricSpread]:
    """Return metric -> spread of a row's scores between repetitions; empty if there is only one repetition."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for metric, values in row.spread.items():
            if values.deviation is not None:
                found.setdefault(metric, []).append(values.deviation)
    return {metric: MetricSpread(fmean(values), len(values)) for metric, values in found.items()}


def _agreement(evaluation: Evaluation, rows: Sequence[QueryRow]) -> dict[str, Agreement]:
    """Return metric -> agreement with human labels; empty if no row has a label."""
    labelled = {
        row.query_id: label
        for item, row in zip(evaluation.rows, rows, strict=True)
        if (label := label_of(item.given)) is not None
    }
    return {
        metric: judge_agreement(
            list(labelled.values()), [row.metrics[metric] for row in rows if row.query_id in labelled]
        )
        for metric in FAITHFULNESS_METRICS
        if labelled and metric in evaluation.metrics
    }


def columns_of(evaluation: Evaluation) -> dict[str, str]:
    """Return metric -> name of its column: the package's name, or this project's if the rows have that column."""
    given = {name for item in evaluation.rows for name in item.given}
    return {metric: metric if (column := column_of(metric)) in given else column for metric in evaluation.metrics}


def scored_rows(evaluation: Evaluation, result: RunResult, *, status: bool = True) -> list[dict[str, Any]]:
    """Return the input rows with one column per metric added, and with ``<column>_status`` if asked for."""
    names = columns_of(evaluation)
    rows = []
    for item, row in zip(evaluation.rows, result.per_query, strict=True):
        columns: dict[str, Any] = dict(item.given)
        for metric, name in names.items():
            columns[name] = row.metrics[metric]
            if status:
                columns[f"{name}_status"] = row.status[metric]
        rows.append(columns)
    return rows


def output_path(evaluation: Evaluation) -> Path | None:
    """Return the file that the configuration asks for; None if it asks for none."""
    output = evaluation.config.output
    if output is None or output.suffix.lower() in (".jsonl", ".csv"):
        return output
    return output / f"eval_{_UNSAFE.sub('_', evaluation.manifest.dataset)}.jsonl"


def write_outputs(evaluation: Evaluation, result: RunResult) -> None:
    """Write ``<run_id>_scores.jsonl`` and ``.csv`` to the run's folder, and the file that the configuration asks for.

    Raises:
        OSError: the file that is asked for cannot be written; those in the run's folder are there.
    """
    rows = scored_rows(evaluation, result)
    stem = evaluation.folder.path / f"{evaluation.folder.run_id}_scores"
    write_atomically(stem.with_suffix(".jsonl"), to_json_lines(rows))
    write_atomically(stem.with_suffix(".csv"), to_csv(rows))
    if (path := output_path(evaluation)) is not None:
        plain = scored_rows(evaluation, result, status=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, to_csv(plain) if path.suffix.lower() == ".csv" else to_json_lines(plain))
