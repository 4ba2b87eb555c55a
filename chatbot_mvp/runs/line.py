"""A line of ``submissions.jsonl``: the summary of a finished run for lists, without its queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.runs.result import BENCHMARK, FORMAT_VERSION, RunResult, first_problem
from chatbot_mvp.runs.rows import STORED, Interval, Metrics, stored
from chatbot_mvp.runs.usage import RunUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """Summary of a finished run. The fields have the same meaning as in ``RunResult``.

    A line of an earlier version may lack all fields except ``run_id`` and ``metrics``. Unknown keys are ignored. They
    stay in the file, because the file is only appended to.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: int = 0
    run_id: str
    kind: str = BENCHMARK
    dataset: str = ""
    dataset_sha256: str = ""
    strategy: str = ""
    fingerprint: str = ""
    queries: int | None = None
    """Number of queries; None if the line does not contain it, as for ``documents``."""
    documents: int | None = None
    metrics: Metrics
    scored: dict[str, tuple[int, int]] = field(default_factory=dict)
    intervals: dict[str, Interval | None] | None = None
    """None if the line's version did not record intervals; the run's result may still have them."""
    seconds: dict[str, float] = field(default_factory=dict)
    usage: RunUsage | None = None
    generator: str = ""
    judge: str = ""
    started_at: str = ""
    finished_at: str = ""


_LEFT_OUT = frozenset(("kind", "queries", "documents", "intervals", "usage"))
"""Fields that are not written if they have their default value."""


def line_of(result: RunResult) -> RunLine:
    """Return the line of a finished run."""
    return RunLine(
        format_version=FORMAT_VERSION,
        **{name: getattr(result, name) for name in RunLine.__slots__ if name != "format_version"},
    )


def line_json(line: RunLine) -> dict[str, Any]:
    """Return the JSON object of a line."""
    values = stored(line, frozenset(RunLine.__slots__) - _LEFT_OUT)
    return values if line.usage is None else {**values, "usage": line.usage.to_json()}


def parse_line(content: bytes) -> RunLine:
    """Parse a line.

    Raises:
        ValueError: the line is not a JSON object, has a later format version, or a field is missing, has a wrong type,
            or is NaN or infinite; the message names the field.
    """
    try:
        line = _adapter().validate_json(content)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from error
    if line.format_version > FORMAT_VERSION:
        raise ValueError(f"format_version: {line.format_version}; this version reads up to {FORMAT_VERSION}")
    return line


@cache
def _adapter() -> TypeAdapter[RunLine]:
    return TypeAdapter(RunLine)
