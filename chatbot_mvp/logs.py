"""Writes log lines to stderr: as text or, with LOG_FORMAT=jsonl, one JSON object per line. Secrets are masked.

Errors can also go to a file, where a user can look up the id of an error that a page shows.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import quote

from chatbot_mvp import terminal
from chatbot_mvp.settings.early import MASK

_log = logging.getLogger(__name__)

_SHORTEST_SECRET = 4  # masking shorter secrets would also hide parts of ordinary words
_LARGEST_FILE = 1_000_000  # bytes of the error file; when it is larger it is rotated, keeping one old file
_QUIET = ("boto3", "botocore", "s3transfer", "urllib3")
"""Libraries whose debug lines contain request headers, and so the access key."""


def configure(form: str, verbose: bool = False, secrets: Sequence[str] = (), errors_path: Path | None = None) -> None:
    """Send all log lines to stderr; a second call replaces the first.

    Args:
        form: "text", or "jsonl" for one object per line with ``time`` (ISO 8601, UTC), ``level``, ``logger``,
            ``message`` and the fields of a run's event. With "jsonl" the project's own loggers log from INFO on, and
            Python warnings and uncaught exceptions become lines too.
        verbose: log from DEBUG on.
        secrets: texts to mask wherever they appear in a line.
        errors_path: file to which errors are also appended, as JSON in either form.
    """
    handler = _Stderr()
    handler.setFormatter(_JsonLines(secrets) if form == "jsonl" else _Text(secrets))
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _Stderr | _ErrorFile)]:
        root.removeHandler(old)
    root.addHandler(handler)
    if errors_path is not None:
        kept = _ErrorFile(errors_path)
        kept.setFormatter(_JsonLines(secrets))
        root.addHandler(kept)
    root.setLevel(logging.DEBUG if verbose else logging.WARNING)
    own = logging.getLogger("chatbot_mvp")
    own.setLevel(logging.INFO if form == "jsonl" and not verbose else logging.NOTSET)
    for library in _QUIET:
        logging.getLogger(library).setLevel(logging.INFO)
    if form == "jsonl":
        logging.captureWarnings(True)
        sys.excepthook = _uncaught


def is_jsonl() -> bool:
    """Return whether log lines on stderr are currently JSON objects; those of the error file always are."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler, _Stderr) and isinstance(handler.formatter, _JsonLines) for handler in handlers)


def say(text: str, level: int = logging.INFO, **fields: Any) -> None:
    """Show a message to the user on stderr: a plain line, or a JSON object with ``fields``."""
    if is_jsonl():
        _log.log(level, "%s", text, extra={"event": fields})
    else:
        terminal.say(text, error=True)


class _Stderr(logging.StreamHandler[TextIO]):
    """Looks up ``sys.stderr`` for each line, because a progress bar replaces it to stay below printed text."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]  # a plain attribute in the base class
        return sys.stderr


class _ErrorFile(logging.Handler):
    """Appends errors to a file. Opens it for each line: errors are few, and several processes may write."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        # Late, so that the help of a command loads no part that it does not need.
        from chatbot_mvp.storage.files import make_folder, private

        try:
            make_folder(self._path.parent)
            if self._path.is_file() and self._path.stat().st_size > _LARGEST_FILE:
                self._path.replace(self._path.with_suffix(".1.jsonl"))
            with open(self._path, "a", encoding="utf-8", opener=private) as file:
                file.write(self.format(record) + "\n")
        except OSError:
            pass  # the line is on stderr; a full disk must not turn one error into two


class _Text(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__(logging.BASIC_FORMAT)
        self._mask = _Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return terminal.visible(self._mask.text(super().format(record)))


class _JsonLines(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__()
        self._mask = _Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        line |= getattr(record, "event", {})
        # Mask before encoding: JSON escapes quotes, so a secret containing one would no longer match.
        return terminal.json_line(self._mask(line), default=str)


def mask(secrets: Iterable[str]) -> None:
    """Mask these texts, too, in every line from now on: keys that came after the start."""
    if new := [form for form in _forms(secrets) if form not in _LATE]:
        _LATE[:] = sorted([*_LATE, *new], key=len, reverse=True)


_LATE: list[str] = []


def _forms(secrets: Iterable[str]) -> list[str]:
    long = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
    # Longest first, because one secret may be part of another. URLs contain the quoted form.
    return sorted(long | {quote(secret, safe="") for secret in long}, key=len, reverse=True)


class _Mask:
    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = _forms(secrets)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self(item) for item in value]
        return value if value is None or isinstance(value, int | float) else self.text(str(value))

    def text(self, text: str) -> str:
        # Longest first over both, because one secret may be part of another.
        for secret in sorted((*_LATE, *self._secrets), key=len, reverse=True) if _LATE else self._secrets:
            text = text.replace(secret, MASK)
        return text


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _log.critical("%s: %s", kind.__name__, error, exc_info=(kind, error, trace))
