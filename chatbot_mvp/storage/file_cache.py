"""What was read of files, kept until a file is another one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
_Stamp = tuple[int, int, int]
"""Inode, time of the last change in ns, size in bytes: a file that was written again has another one."""


class FileCache(Generic[T]):
    """For all sessions: whoever gets a value must not change it. Safe to use from threads."""

    def __init__(self, max_bytes: int) -> None:
        """
        Args:
            max_bytes: how large the files may be together whose values are kept; the last one is kept in any case.
        """
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Path, tuple[_Stamp, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: Path, read: Callable[[], T]) -> T:
        """What ``read`` gives of a file, read again only when the file is another one.

        A file that is not there is asked of ``read`` each time; what ``read`` raises is not kept.
        """
        try:
            found = path.stat()
        except OSError:
            return read()
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        with self._lock:
            kept = self._kept.get(path)
            if kept is not None and kept[0] == stamp:
                self._kept.move_to_end(path)
                return kept[1]
        # Not under the lock: a large file would hold up those who ask for another one.
        value = read()
        with self._lock:
            self._kept[path] = (stamp, value)
            self._kept.move_to_end(path)
            while len(self._kept) > 1 and sum(size for (_, _, size), _ in self._kept.values()) > self._max_bytes:
                self._kept.popitem(last=False)
        return value
