"""Results, rows and lines from the keys of their files; what a test does not give is empty."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.runs.line import RunLine, parse_line
from chatbot_mvp.runs.result import RunResult, parse_result
from chatbot_mvp.runs.rows import QueryRow

SPENT = {"calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0, "unpriced": 0}
LINE: dict[str, Any] = {
    "format_version": 1,
    "run_id": "r1",
    "kind": "benchmark",
    **dict.fromkeys(("dataset_sha256", "generator", "judge", "started_at", "finished_at"), ""),
    "dataset": "valle",
    "strategy": "LEXICAL",
    "fingerprint": "f",
    "queries": 0,
    "documents": 0,
    **{name: {} for name in ("metrics", "scored", "intervals", "seconds")},
    "usage": {**SPENT, "phases": {}},
}
"""The keys of a line of ``submissions.jsonl``."""
_TEXTS = ("corpus_slice", "answer_rule", "language", "generator_fingerprint", "judge_fingerprint", "preset", "imported")
_TABLES = (
    *("readings", "splits", "causes", "failures", "not_scored", "spread", "agreement"),
    *("auroc", "question_seconds", "passage_questions", "config"),
)
RESULT: dict[str, Any] = {
    **LINE,
    **dict.fromkeys(_TEXTS, ""),
    **{name: {} for name in _TABLES},
    **dict.fromkeys(("reranker_rescue_count", "rerank_failures", "abstentions", "peak_rss_mb")),
    "gold_missing": 0,
    "repeats": 1,
    "damaged_records": 0,
    "per_query": [],
}
"""The keys of ``<run_id>.json``."""
ROW: dict[str, Any] = {
    "query_id": "q1",
    **dict.fromkeys(("question", "answer", "answer_type", "question_type", "level"), ""),
    "metrics": {},
    "retrieved": [],
    "gold": [],
}
"""The keys that every row of a result has."""


def made_result(**values: Any) -> RunResult:
    rows = [{**ROW, **row} if isinstance(row, dict) else row for row in values.pop("per_query", [])]
    return parse_result(json.dumps({**RESULT, **values, "per_query": rows}).encode(), "r1")


def made_row(**values: Any) -> QueryRow:
    [row] = made_result(per_query=[values]).per_query
    return row


def made_line(**values: Any) -> RunLine:
    return parse_line(json.dumps({**LINE, **values}).encode())
