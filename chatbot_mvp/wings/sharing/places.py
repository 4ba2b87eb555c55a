"""Say which files of the data folder are shared, and how two versions of each become one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Kind(Enum):
    """How a file changes."""

    WHOLE = "whole"
    """It is replaced as a whole."""
    LINES = "lines"
    """Lines of JSON are appended to it; two versions become one by joining their lines."""
    HEAD = "head"
    """The head of a knowledge base; two versions become one by joining what they changed."""
    NAMED = "named"
    """Its content gives it its name, so that it never changes. It goes when nothing on either side needs it."""


@dataclass(frozen=True)
class Place:
    """Files of one form."""

    pattern: re.Pattern[str]
    """Of the path relative to DATA_DIR, with slashes."""
    kind: Kind
    turn: int
    """Files of a lower turn are copied first, so that what lists a folder comes after what the folder holds."""


_LONGEST_NAME, _LONGEST_PATH = 200, 800
"""Limits of a path and of each of its names, in characters. A file system allows 255 bytes, and a write needs some of
them for the name of its unfinished file."""
_MB = 1024 * 1024
MOST_BYTES = {Kind.LINES: 64 * _MB, Kind.WHOLE: 1024 * _MB, Kind.HEAD: 64 * _MB, Kind.NAMED: 1024 * _MB}
"""Largest file that is exchanged. Lines and heads are joined in memory."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_RECORD, _RESULT = "kb.json", "{id}.json"
RETRIED = ".renewing"
"""File in the folder of a run that is being retried (see ``runs.records``)."""
_PLACES = (
    Place(re.compile(r"kb/(?P<kb>[a-z0-9-]+)/(texts/[0-9a-f]{64}\.txt|originals/[0-9a-f]{64})"), Kind.NAMED, 0),
    Place(re.compile(r"kb/(?P<kb>[a-z0-9-]+)/versions/[0-9a-f]{24}\.json"), Kind.NAMED, 0),
    Place(re.compile(r"kb/(?P<kb>[a-z0-9-]+)/(source\.txt|files\.json)"), Kind.WHOLE, 0),
    Place(re.compile(rf"kb/(?P<kb>[a-z0-9-]+)/(evaluation/)?({_NAME}/)*{_NAME}\.jsonl"), Kind.LINES, 0),
    Place(re.compile(rf"kb/(?P<kb>[a-z0-9-]+)/evaluation/({_NAME}/)*{_NAME}\.json"), Kind.WHOLE, 0),
    Place(re.compile(r"kb/(?P<kb>[a-z0-9-]+)/kb\.json"), Kind.HEAD, 1),
    Place(re.compile(rf"results/(?P<run>{_NAME})/(?P=run)\.json"), Kind.WHOLE, 1),
    Place(re.compile(rf"results/(?P<run>{_NAME})/{_NAME}\.(json|jsonl|csv)"), Kind.WHOLE, 0),
    Place(re.compile(r"(submissions|run_notes)\.jsonl"), Kind.LINES, 2),
    Place(re.compile(r"run_presets\.json"), Kind.WHOLE, 2),
)


def place_of(path: str) -> Place | None:
    """Return the place of a path relative to DATA_DIR; None if the file is not shared."""
    if len(path) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in path.split("/")):
        return None
    return next((place for place in _PLACES if place.pattern.fullmatch(path)), None)


def is_odd(path: str) -> bool:
    """Return whether an object lies where only shared files should be, and is none."""
    return path.startswith(("kb/", "results/")) and place_of(path) is None


def kb_of(path: str) -> str:
    """Return the id of the knowledge base that a shared path belongs to; "" for another one."""
    parts = path.split("/")
    return parts[1] if parts[0] == "kb" else ""


def record_of(kb_id: str) -> str:
    """Return the path of a knowledge base's record, without which it does not exist."""
    return f"kb/{kb_id}/{_RECORD}"


def shared_files(data_dir: Path) -> Iterator[str]:
    """Yield the shared paths below a data folder: whole knowledge bases, finished runs, their lists and notes."""
    folders = [*_with_record(data_dir / "kb"), *_finished(data_dir / "results")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in (*files, *data_dir.glob("*.json*")):
        relative = path.relative_to(data_dir).as_posix()
        if place_of(relative):
            yield relative


def _with_record(root: Path) -> list[Path]:
    return [path.parent for path in root.glob(f"*/{_RECORD}")]


def _finished(root: Path) -> list[Path]:
    """Return the folders of runs that have a result and are not being retried."""
    folders = [path for path in root.glob("*") if (path / _RESULT.format(id=path.name)).is_file()]
    return [path for path in folders if not (path / RETRIED).exists()]
