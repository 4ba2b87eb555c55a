"""Append to and read JSON Lines files. Several threads and processes may append; damaged lines are skipped."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_writing = threading.Lock()


def append_lines(path: Path, rows: Iterable[Mapping[str, Any]], sync: bool = True) -> None:
    """Append rows to a file, which is created if needed. Thread-safe.

    All rows are written in one call. If a crash left an incomplete last line, it is ended first, so that the new rows
    stay readable. Lone surrogates, which UTF-8 cannot encode, become question marks.

    Args:
        sync: wait until the rows are on the disk, so that they survive a power failure.

    Raises:
        OSError: the disk is full or not writable; earlier lines stay.
    """
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    data = text.encode("utf-8", "replace")
    with path.open("ab+", buffering=0) as file:
        with _writing:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            while data:  # a nearly full disk may accept only a part
                data = data[file.write(data) :]
        if sync:
            os.fsync(file.fileno())


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return (rows, number of damaged lines). A line that is not a JSON object is damaged; it stays in the file.

    A file that does not exist has no rows.
    """
    return parsed_lines(path.read_bytes()) if path.is_file() else ([], 0)


def parsed_lines(content: bytes) -> tuple[list[dict[str, Any]], int]:
    """Parse the content of a JSON Lines file, as ``read_lines`` does. Blank lines are ignored."""
    rows: list[dict[str, Any]] = []
    damaged = 0
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            damaged += 1
    return rows, damaged
