"""A line of ``submissions.jsonl``: a finished run as lists show it, without its queries."""

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
    """A finished run in a list. The fields mean what those of ``RunResult`` mean.

    A line of an earlier version may lack everything but ``run_id`` and ``metrics``. Unknown keys are ignored; they stay
    in the file, because lines are only appended to it.
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
    """None where the line does not tell, as in the following."""
    documents: int | None = None
    metrics: Metrics
    scored: dict[str, tuple[int, int]] = field(default_factory=dict)
    intervals: dict[str, Interval | None] | None = None
    """None: a line of a version that did not list them; the run's result may have them."""
    seconds: dict[str, float] = field(default_factory=dict)
    usage: RunUsage | None = None
    generator: str = ""
    judge: str = ""
    started_at: str = ""
    finished_at: str = ""


_LEFT_OUT = frozenset(("kind", "queries", "documents", "intervals", "usage"))
"""Not written at their defaults."""


def line_of(result: RunResult) -> RunLine:
    """A finished run's line."""
    return RunLine(
        format_version=FORMAT_VERSION,
        **{name: getattr(result, name) for name in RunLine.__slots__ if name != "format_version"},
    )


def line_json(line: RunLine) -> dict[str, Any]:
    """The JSON object of a line."""
    values = stored(line, frozenset(RunLine.__slots__) - _LEFT_OUT)
    return values if line.usage is None else {**values, "usage": line.usage.to_json()}


def parse_line(content: bytes) -> RunLine:
    """Read the run in a line.

    Raises:
        ValueError: the line is no JSON object, has a later format, or a field is missing, of another type, NaN or
            infinite; the text names the field.
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
