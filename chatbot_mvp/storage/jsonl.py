"""JSON Lines files that only grow: one object per line, appended by threads and processes, read past damaged lines."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_writing = threading.Lock()


def append_lines(path: Path, rows: Iterable[Mapping[str, Any]], sync: bool = True) -> None:
    """Append rows to a file, which is made if it is not there; safe to call from several threads at once.

    All rows go in one write call. A torn last line, left by a crash, is ended first, so that it spoils no other line.
    Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark.

    Args:
        sync: wait until the rows are on the disk, so that they survive a power failure.

    Raises:
        OSError: the disk is full or refuses; earlier lines stay.
    """
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    data = text.encode("utf-8", "replace")
    with path.open("ab+", buffering=0) as file:
        with _writing:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            while data:  # a full disk takes a part, and refuses the rest
                data = data[file.write(data) :]
        if sync:
            os.fsync(file.fileno())


def read_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """(the rows that are JSON objects, the number of lines that are not). Damaged lines stay in the file.

    A file that does not exist has no rows.
    """
    return parsed_lines(path.read_bytes()) if path.is_file() else ([], 0)


def parsed_lines(content: bytes) -> tuple[list[dict[str, Any]], int]:
    """Parse what a JSON Lines file holds, as ``read_lines`` does; blank lines are neither rows nor damage."""
    rows: list[dict[str, Any]] = []
    damaged = 0
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            damaged += 1
    return rows, damaged
