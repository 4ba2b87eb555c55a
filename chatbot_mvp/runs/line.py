"""A line of ``submissions.jsonl``: a finished run as lists show it, without its queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.result import BENCHMARK, FORMAT_VERSION, RunResult, first_problem
from chatbot_mvp.runs.rows import STORED, Interval, Metrics, stored
from chatbot_mvp.runs.usage import RunUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A finished run in a list. The fields mean what those of ``RunResult`` mean.

    A line of an earlier version may lack everything but ``run_id`` and ``metrics``. Keys that this version does not
    know are ignored; they stay in the file, to which lines are only appended.
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


def parse_line(content: bytes, number: int) -> RunLine:
    """The run in a line.

    Args:
        number: of the line, from 1; names the run in the error, as a line that cannot be read may not name it.

    Raises:
        RunUnreadable: it is no JSON object, of a later format, or a field is missing, of another type, NaN or infinite.
    """
    try:
        line = _adapter().validate_json(content)
    except ValidationError as error:
        raise RunUnreadable(run_id=f"line {number}", reason=first_problem(error)) from error
    if line.format_version > FORMAT_VERSION:
        reason = f"its line has format {line.format_version}; this version reads up to {FORMAT_VERSION}"
        raise RunUnreadable(run_id=line.run_id, reason=reason)
    return line


@cache
def _adapter() -> TypeAdapter[RunLine]:
    return TypeAdapter(RunLine)
