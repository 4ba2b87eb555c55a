"""A finished run as CSV: one line in all, and one line per query."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.benchmark.datasets import Dataset
from chatbot_mvp.benchmark.records import RunFolder


def write_summary_csv(folder: RunFolder, result: Mapping[str, Any], dataset: Dataset) -> None:
    """``<run_id>_summary.csv``: the aggregates, each with how many queries were scored."""
    row: dict[str, Any] = {
        name: result[name] for name in ("run_id", "dataset", "strategy", "fingerprint", "queries", "documents")
    }
    for name, mean in result["metrics"].items():
        row[name] = mean
        row[f"{name}_scored"] = result["scored"][name][0]
    _write(folder.path / f"{folder.run_id}_summary.csv", [row])


def write_detail_csv(folder: RunFolder, result: Mapping[str, Any], dataset: Dataset) -> None:
    """``<run_id>_detail.csv``: each query with its metrics, its retrieved and its gold documents (ids by "|")."""
    rows = []
    for item in result["per_query"]:
        rows.append(
            {
                "query_id": item["query_id"],
                "question": item["question"],
                "answer": item["answer"],
                "question_type": item["question_type"],
                **item["metrics"],
                "retrieved": "|".join(item["retrieved"]),
                "gold": "|".join(item["gold"]),
            }
        )
    _write(folder.path / f"{folder.run_id}_detail.csv", rows)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    """An empty cell is a value that was not scored."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
