"""A finished run as CSV: one line in all, and one line per query."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult


def write_summary_csv(folder: RunFolder, result: RunResult, dataset: Dataset) -> None:
    """``<run_id>_summary.csv``: the aggregates, each with how many queries were scored and its 95 % interval."""
    row: dict[str, Any] = {
        "run_id": result.run_id,
        "dataset": result.dataset,
        "strategy": result.strategy,
        "fingerprint": result.fingerprint,
        "queries": result.queries,
        "documents": result.documents,
    }
    for name, mean in result.metrics.items():
        row[name] = mean
        row[f"{name}_scored"] = result.scored[name][0]
        row[f"{name}_low"], row[f"{name}_high"] = result.intervals[name] or (None, None)
    counts = {
        "abstentions": result.abstentions,
        "rerank_failures": result.rerank_failures,
        "reranker_rescue_count": result.reranker_rescue_count,
        "damaged_records": result.damaged_records,
    }
    row |= {name: count for name, count in counts.items() if count is not None}
    if result.generator:
        row |= {"generator": result.generator, "judge": result.judge}
    _write(folder.path / f"{folder.run_id}_summary.csv", [row])


def write_detail_csv(folder: RunFolder, result: RunResult, dataset: Dataset) -> None:
    """``<run_id>_detail.csv``: each query with its metrics, its documents (ids by "|") and where it was lost."""
    # A query that was not answered has fewer metrics than one that was.
    names = list(dict.fromkeys(name for item in result.per_query for name in item.metrics))
    rows = []
    for item in result.per_query:
        case = AnswerCase(item.response, item.answer, item.answer_type)
        context = item.generation_doc_ids
        rows.append(
            {
                "query_id": item.query_id,
                "question": item.question,
                "answer": item.answer,
                "answer_type": item.answer_type,
                "question_type": item.question_type,
                "level": item.level,
                "primary_metric_type": "accuracy" if case.is_label else "f1",
                "generated_answer": item.response,
                **{name: item.metrics.get(name) for name in names},
                "retrieved": "|".join(item.retrieved),
                "gold": "|".join(item.gold),
                "generation_doc_ids": None if context is None else "|".join(context),
                "reranked": item.reranked,
                "cause": item.cause,
                "abstained": item.abstained if result.generator else None,
                "error": item.error,
            }
        )
    _write(folder.path / f"{folder.run_id}_detail.csv", rows)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    """An empty cell is a value that was not scored or that the run does not have."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
