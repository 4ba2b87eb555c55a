"""Append to and read JSON Lines files. Several threads and processes may append; damaged lines are skipped."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from chatbot_mvp.storage.file_locks import lock, unlock
from chatbot_mvp.storage.files import in_utf8, private
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

_writing = threading.Lock()

Rows = list[dict[str, Any]]


def append_lines(path: Path, rows: Iterable[Mapping[str, Any]], sync: bool = True) -> None:
    """Append rows to a file, which is created if needed. Safe for threads and processes.

    If a crash left an incomplete last line, it is ended first, so that the new rows stay readable. Lone surrogates,
    which UTF-8 cannot encode, become U+FFFD.

    Args:
        sync: wait until the rows are on the disk, so that they survive a power failure.

    Raises:
        ValueError: a number is NaN or infinite, which JSON cannot represent; nothing is written.
        OSError: the disk is full or not writable; the file stays as it was.
    """
    data = _encoded(rows)
    _append(path, lambda _: data, sync)


def append_chosen(path: Path, choose: Callable[[Rows], Iterable[Mapping[str, Any]]]) -> None:
    """Append the rows that ``choose`` returns for the present rows. No other process appends in between.

    Raises:
        ValueError, OSError: as in ``append_lines``.
    """
    _append(path, lambda file: _encoded(choose(parsed_lines(file.read())[0])), sync=True)


def _append(path: Path, encoded: Callable[[IO[bytes]], bytes], sync: bool) -> None:
    with open(path, "ab+", buffering=0, opener=private) as file:
        with _alone(file):
            file.seek(0)
            data = encoded(file)
            end = file.seek(0, os.SEEK_END)
            if data and end > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            try:
                while data:  # a nearly full disk may accept only a part
                    data = data[file.write(data) :]
            except BaseException:
                with suppress(OSError):
                    file.truncate(end)
                raise
        if sync:
            os.fsync(file.fileno())


def read_lines(path: Path) -> tuple[Rows, int]:
    """Return (rows, number of damaged lines). A line that is not a JSON object is damaged; it stays in the file.

    A file that does not exist has no rows.
    """
    return parsed_lines(path.read_bytes()) if path.is_file() else ([], 0)


def parsed_lines(content: bytes) -> tuple[Rows, int]:
    """Parse the content of a JSON Lines file, as ``read_lines`` does. Blank lines are ignored."""
    rows: Rows = []
    damaged = 0
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except InvalidJson:
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            damaged += 1
    return rows, damaged


def _encoded(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return in_utf8("".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))


@contextmanager
def _alone(file: IO[bytes]) -> Iterator[None]:
    """Keep other threads and processes from appending to a file. The system frees the lock when the process dies."""
    with _writing:
        # Without a lock, lines of two processes are whole, but a failed write may remove a line that another process
        # appended meanwhile.
        lock(file)
        try:
            yield
        finally:
            unlock(file)
