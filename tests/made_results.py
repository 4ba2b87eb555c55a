"""Results, rows and lines from the keys of their files; what a test does not give is empty."""

from __future__ import annotations

import json
from typing import Any

from chatbot_mvp.runs.line import RunLine, parse_line
from chatbot_mvp.runs.result import RunResult, parse_result
from chatbot_mvp.runs.rows import QueryRow


def made_result(**values: Any) -> RunResult:
    named = {"run_id": "r1", "dataset": "valle", "strategy": "LEXICAL", "fingerprint": "f", "queries": 0}
    return parse_result(json.dumps({**named, "metrics": {}, "scored": {}, "per_query": [], **values}).encode(), "r1")


def made_row(**values: Any) -> QueryRow:
    [row] = made_result(per_query=[{"query_id": "q1", "question": "", "metrics": {}, **values}]).per_query
    return row


def made_line(**values: Any) -> RunLine:
    return parse_line(json.dumps({"run_id": "r1", "metrics": {}, **values}).encode())
