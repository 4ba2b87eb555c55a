"""A folder of files that can be made again: bounded by age and by size."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from chatbot_mvp.storage.files import make_folder, write_atomically


class BoundedFolder:
    """Files by name, kept for some hours and, the newest first, up to some bytes. Safe for threads and processes."""

    def __init__(self, folder: Path, most_hours: float, most_bytes: int) -> None:
        self._folder = folder
        self._most_s = most_hours * 3_600
        self._most_bytes = most_bytes

    def get(self, name: str) -> bytes | None:
        """Return the content of a file; None if it is not there or too old."""
        path = self._folder / name
        with suppress(OSError):
            if time.time() - path.stat().st_mtime <= self._most_s:
                return path.read_bytes()
        return None

    def put(self, name: str, content: str | bytes) -> None:
        """Keep a file. On a full disk it is not kept."""
        with suppress(OSError):
            make_folder(self._folder)
            write_atomically(self._folder / name, content, durable=False, tidy=False)  # ``prune`` tidies

    def drop(self, names: Iterable[str]) -> None:
        """Delete files. What a read-only disk refuses stays until ``prune``."""
        for name in names:
            with suppress(OSError):
                (self._folder / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all files.

        Raises:
            OSError: one cannot be deleted.
        """
        for path in self._paths():
            path.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete the files that are too old, then the oldest ones until the rest fits."""
        kept, newest = 0, []
        for path in self._paths():
            with suppress(OSError):  # another process may have deleted it
                found = path.stat()
                newest.append((found.st_mtime, found.st_size, path))
        for changed, size, path in sorted(newest, reverse=True):
            kept += size
            if kept > self._most_bytes or time.time() - changed > self._most_s:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        # Includes the unfinished files of a process that was killed; their names begin with a dot.
        return [path for path in self._folder.glob("*") if path.is_file()] if self._folder.is_dir() else []
