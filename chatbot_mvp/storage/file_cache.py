"""Caches parsed files until the file on disk changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from chatbot_mvp.storage.lru import BoundedCache

T = TypeVar("T")
_Stamp = tuple[int, int, int]
"""Inode, time of the last change in ns, size in bytes. At least one of them changes when the file is written again."""


class FileCache(Generic[T]):
    """Cache of parsed files. Thread-safe. All sessions share the values, so values must not be changed."""

    def __init__(self, max_bytes: int) -> None:
        """
        Args:
            max_bytes: maximum total size of the files whose values are kept. The newest value is always kept.
        """
        self._kept: BoundedCache[Path, tuple[_Stamp, T]] = BoundedCache(max_bytes, lambda kept: kept[0][2])

    def get(self, path: Path, read: Callable[[], T]) -> T:
        """Return the result of ``read`` for a file. ``read`` is called again only after the file has changed.

        If the file does not exist, ``read`` is called every time. Errors that ``read`` raises are not cached.
        """
        try:
            found = path.stat()
        except OSError:
            return read()
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        value = read()
        self._kept.put(path, (stamp, value))
        return value
