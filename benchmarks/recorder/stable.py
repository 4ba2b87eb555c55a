"""What is another one each time (times, random ids, durations, folders, ports) replaced by what it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.recorder.facts import JSON
from benchmarks.script import ROOT
from chatbot_mvp import __version__

_VARYING = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00|Z)?)"
    r"|(?P<stamp>\d{8}\\?_\d{6}(?=\\?_))"
    r"|(?P<id>\d{8}[T-]\d{6,12}(?:-\d{3}\b)?(?:-[0-9a-f]{4,12}\b)?"
    r"|\b(?:chatcmpl-[0-9a-f]{24}|q-[0-9a-f]{8}|v-[0-9a-f]{12})\b"
    r"|(?<![-0-9a-f])(?:[0-9a-f]{32}|[0-9a-f]{24})(?![0-9a-f]))"
    r"|(?P<seconds>\b\d+(?:[.,]\d+)? ?(?:ms|s|MB/s)\b)"
    r"|(?P<port>(?<=127\.0\.0\.1:)\d+)"
)
_SECOND = re.compile(r"(<stamp>_[\w-]*[A-Z])-\d\b")
"""The id of the second run of one second."""
_SECONDS = re.compile(r"(^|_)(seconds|ms|rate|created|rss_mb|seconds_left|age_s|mtime)($|_)|^(speed|cpu)$")
_PRINTS = re.compile(r"(fingerprint|^prompts)$")
_CODE = "code_version"


class Stable:
    """Replaces what varies, and numbers ids in the order in which they come: the same id has the same number."""

    def __init__(self, folders: Mapping[str, Path], today: bool = True) -> None:
        """Args: folders: name -> path; today: replace the day, and the next one, which begins while something runs."""
        known = {str(path): f"<{name}>" for name, path in folders.items()}
        known |= {str(ROOT): "<root>", str(Path.home()): "<home>", __version__: "<version>"}
        if today:
            known |= {(datetime.now(UTC) + timedelta(days=days)).date().isoformat(): "<day>" for days in (0, 1)}
        self._known = sorted(known.items(), key=lambda one: -len(one[0]))
        self._ids: dict[str, dict[str, str]] = {}

    def text(self, text: str) -> str:
        """Return a text with names in place of what varies."""
        text = _SECOND.sub(r"\1", _VARYING.sub(self._named, text))
        for found, name in self._known:
            if len(found) > 1:
                text = text.replace(found, name)
        return text

    def value(self, value: JSON, key: str = "") -> JSON:
        """Return a value with names in place of what varies, at any depth and in keys."""
        if isinstance(value, Mapping):
            if _SECONDS.search(key):
                return {name: self.value(part, key) for name, part in value.items()}
            return {self.text(str(name)): self.value(part, str(name)) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part, key) for part in value]
        if isinstance(value, str):
            if key == _CODE:
                return "<code>"
            return self._numbered(value, "print") if value and _PRINTS.search(key) else self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and _SECONDS.search(key):
            return "<number>"
        return value

    def _named(self, found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        return self._numbered(found[0]) if kind == "id" else f"<{kind}>"

    def _numbered(self, found: str, kind: str = "id") -> str:
        known = self._ids.setdefault(kind, {})
        return known.setdefault(found, f"<{kind} {len(known) + 1}>")
