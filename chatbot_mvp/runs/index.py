"""Read and write ``submissions.jsonl``, one line per finished run, so that lists need not open every run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.runs.records import append_json_lines, read_json_lines

_KEPT = (
    "run_id",
    "kind",
    "dataset",
    "dataset_sha256",
    "strategy",
    "fingerprint",
    "queries",
    "documents",
    "metrics",
    "scored",
    "intervals",
    "seconds",
    "usage",
    "generator",
    "judge",
    "started_at",
    "finished_at",
)


def append_submission(path: Path, result: Mapping[str, Any]) -> None:
    """Append the line of a finished run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    append_json_lines(path, [{name: result[name] for name in _KEPT if name in result}])


def read_submissions(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return (distinct runs, newest first; number of unusable lines). Does not change the file."""
    rows, damaged = read_json_lines(path)
    by_id: dict[str, dict[str, Any]] = {}
    for row in rows:
        if isinstance(row.get("run_id"), str) and isinstance(row.get("metrics"), dict):
            by_id[row["run_id"]] = row
        else:
            damaged += 1
    return sorted(by_id.values(), key=lambda row: str(row.get("started_at", "")), reverse=True), damaged
