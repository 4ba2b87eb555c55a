"""``submissions.jsonl``: one line per finished run, so that lists need not open every run."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict

from chatbot_mvp.runs.records import not_written
from chatbot_mvp.runs.result import RunResult, parsed
from chatbot_mvp.runs.rows import STORED, Interval, Metrics
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.jsonl import append_lines
from chatbot_mvp.storage.limits import Amount, Count, Name

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """Summary of a finished run. The fields have the same meaning as in ``RunResult``.

    A line has every key but those with a default, which earlier versions did not write. Unknown keys, which a later
    version may have added, are ignored. They stay in the file, because the file is only appended to.
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
    chat_model: Name = ""
    judge: Name
    started_at: Name
    finished_at: Name

    @property
    def system(self) -> str:
        """What was measured, as labels name it: the strategy and, where there were answers, provider/model."""
        chat = "" if self.chat_model == "demo" else self.chat_model
        return " · ".join(part for part in (self.strategy, self.generator or chat) if part)


def line_of(result: RunResult) -> RunLine:
    """Return the line of a finished run."""
    return RunLine(**{name: getattr(result, name) for name in RunLine.__slots__})


def parse_line(content: bytes) -> RunLine:
    """Parse a line.

    Raises:
        ValueError: the line is not a JSON object, has a later format version, or a field is missing, has a wrong type,
            is NaN or infinite, or is far larger than any run makes it; the message names the field.
    """
    return parsed(RunLine, content)


def append_submission(path: Path, result: RunResult) -> None:
    """Append the line of a finished run.

    Raises:
        RunError: a figure is NaN or infinite, or the disk is full or not writable; nothing is written.
    """
    try:
        make_folder(path.parent)
        append_lines(path, [asdict(line_of(result))])
    except (ValueError, OSError) as error:
        raise not_written(result.run_id, path.name, error) from error


def read_submissions(path: Path) -> tuple[list[RunLine], list[str]]:
    """Return (distinct runs, newest first; for each unusable line, its number and why). Does not change the file."""
    by_id: dict[str, RunLine] = {}
    damaged = []
    content = path.read_bytes() if path.is_file() else b""
    for number, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            line = parse_line(text)
        except ValueError as error:
            _log.warning("%s, line %d was skipped: %s", path.name, number, error)
            damaged.append(f"{number}: {error}")
        else:
            by_id[line.run_id] = line
    return sorted(by_id.values(), key=lambda line: line.started_at, reverse=True), damaged
