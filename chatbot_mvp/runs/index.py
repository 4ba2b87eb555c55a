"""Read and write ``submissions.jsonl``, one line per finished run, so that lists need not open every run."""

from __future__ import annotations

import logging
from pathlib import Path

from chatbot_mvp.errors import RunError
from chatbot_mvp.runs.line import RunLine, line_json, line_of, parse_line
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.jsonl import append_lines

_log = logging.getLogger(__name__)


def append_submission(path: Path, result: RunResult) -> None:
    """Append the line of a finished run.

    Raises:
        RunError: a figure is NaN or infinite, or the disk is full or not writable; nothing is written.
    """
    try:
        make_folder(path.parent)
        append_lines(path, [line_json(line_of(result))])
    except (ValueError, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError("run_not_written", run_id=result.run_id, path=path.name, reason=reason) from error


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
