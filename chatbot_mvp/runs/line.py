"""A line of ``submissions.jsonl``: the summary of a finished run for lists, without its queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.runs.result import BENCHMARK, FORMAT_VERSION, RunResult, first_problem
from chatbot_mvp.runs.rows import STORED, Interval, Metrics, stored
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.limits import Amount, Count, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """Summary of a finished run. The fields have the same meaning as in ``RunResult``.

    A line of an earlier version may lack all fields except ``run_id`` and ``metrics``. Unknown keys are ignored. They
    stay in the file, because the file is only appended to.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: Count = 0
    run_id: Name
    kind: Name = BENCHMARK
    dataset: Name = ""
    dataset_sha256: Name = ""
    strategy: Name = ""
    fingerprint: Name = ""
    queries: Count | None = None
    """Number of queries; None if the line does not contain it, as for ``documents``."""
    documents: Count | None = None
    metrics: Metrics
    scored: dict[Name, tuple[Count, Count]] = field(default_factory=dict)
    intervals: dict[Name, Interval | None] | None = None
    """None if the line's version did not record intervals; the run's result may still have them."""
    seconds: dict[Name, Amount] = field(default_factory=dict)
    usage: RunUsage | None = None
    generator: Name = ""
    judge: Name = ""
    started_at: Name = ""
    finished_at: Name = ""


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
            is NaN or infinite, or is far larger than any run makes it; the message names the field.
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
