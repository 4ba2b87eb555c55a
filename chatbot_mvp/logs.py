"""What goes to stderr: log lines as text or, with LOG_FORMAT=jsonl, one JSON object a line. No secret is in either.

Errors go to a file as well, if one is named: a person who is given an error's id can look it up there.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import quote

from chatbot_mvp.settings.model import MASK, SECRETS, Settings

_log = logging.getLogger(__name__)

_SHORTEST_SECRET = 4  # to mask less would blot out words
_LARGEST_FILE = 1_000_000  # bytes of the file of errors; the one before is kept
_QUIET = ("boto3", "botocore", "s3transfer", "urllib3")
"""Their debug lines hold the headers of requests, and by them the access key."""


def configure(form: str, verbose: bool = False, secrets: Sequence[str] = (), errors_path: Path | None = None) -> None:
    """Send all log lines to stderr; a second call replaces the first.

    Args:
        form: "text", or "jsonl" for one object a line: ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``message``
            and the fields of an event of a run; the project's own loggers then tell from INFO on, and warnings of
            Python and an exception that nobody caught are lines as well.
        verbose: from DEBUG on.
        secrets: what is masked wherever it stands in a line.
        errors_path: where lines of errors are kept too, as JSON whatever the form.
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


def secrets_of(settings: Settings) -> list[str]:
    """The values of the settings that are never written down."""
    found = [getattr(settings, name).get_secret_value() for name in SECRETS]
    return [secret for secret in found if secret]


def is_jsonl() -> bool:
    """Whether lines are JSON objects at present."""
    return any(isinstance(handler.formatter, _JsonLines) for handler in logging.getLogger().handlers)


def say(text: str, level: int = logging.INFO, **fields: Any) -> None:
    """Tell the user something on stderr: a plain line, or an object with ``fields``."""
    if is_jsonl():
        _log.log(level, "%s", text, extra={"event": fields})
    else:
        print(text, file=sys.stderr, flush=True)


class _Stderr(logging.StreamHandler[TextIO]):
    """Looks stderr up anew for each line: a progress bar puts itself in its place to stay below what is printed."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    # An attribute of the base class; asked for anew it has to be a property.
    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


class _ErrorFile(logging.Handler):
    """Appends errors to a file that is opened for each line: there are few, and several processes may write."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.is_file() and self._path.stat().st_size > _LARGEST_FILE:
                self._path.replace(self._path.with_suffix(".1.jsonl"))
            with self._path.open("a", encoding="utf-8") as file:
                file.write(self.format(record) + "\n")
        except OSError:
            pass  # the line is on stderr; a full disk must not turn one error into two


class _Text(logging.Formatter):
    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__(logging.BASIC_FORMAT)
        self._mask = _Mask(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._mask.text(super().format(record))


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
        # Before it is encoded: afterwards a secret with a quote in it would not be found.
        return json.dumps(self._mask(line), ensure_ascii=False, default=str)


class _Mask:
    def __init__(self, secrets: Sequence[str]) -> None:
        long = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        # The longest first: one may be part of another. An address holds it quoted.
        self._secrets = sorted(long | {quote(secret, safe="") for secret in long}, key=len, reverse=True)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self(item) for item in value]
        return value if value is None or isinstance(value, int | float) else self.text(str(value))

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _log.critical("%s: %s", kind.__name__, error, exc_info=(kind, error, trace))
