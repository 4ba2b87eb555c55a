"""A line of ``submissions.jsonl``: the summary of a finished run for lists, without its queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.runs.result import RunResult, first_problem, later_format
from chatbot_mvp.runs.rows import STORED, Interval, Metrics
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.formats import RESULT
from chatbot_mvp.storage.limits import Amount, Count, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """Summary of a finished run. The fields have the same meaning as in ``RunResult``.

    A line has every key. Unknown keys, which a later version may have added, are ignored. They stay in the file,
    because the file is only appended to.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: Count
    run_id: Name
    kind: Name
    dataset: Name
    dataset_sha256: Name
    strategy: Name
    fingerprint: Name
    queries: Count
    documents: Count
    metrics: Metrics
    scored: dict[Name, tuple[Count, Count]]
    intervals: dict[Name, Interval | None]
    seconds: dict[Name, Amount]
    usage: RunUsage
    generator: Name
    judge: Name
    started_at: Name
    finished_at: Name


def line_of(result: RunResult) -> RunLine:
    """Return the line of a finished run."""
    return RunLine(**{name: getattr(result, name) for name in RunLine.__slots__})


def line_json(line: RunLine) -> dict[str, Any]:
    """Return the JSON object of a line."""
    return asdict(line)


def parse_line(content: bytes) -> RunLine:
    """Parse a line.

    Raises:
        ValueError: the line is not a JSON object, has a later format version, or a field is missing, has a wrong type,
            is NaN or infinite, or is far larger than any run makes it; the message names the field.
    """
    try:
        line = _adapter().validate_json(content)
    except ValidationError as error:
        raise ValueError(later_format(content, RESULT) or first_problem(error)) from error
    if line.format_version > RESULT:
        raise ValueError(later_format(content, RESULT))
    return line


@cache
def _adapter() -> TypeAdapter[RunLine]:
    return TypeAdapter(RunLine)
