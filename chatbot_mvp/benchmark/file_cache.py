"""What was read of files, kept until a file is another one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
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
        self._kept: OrderedDict[Hashable, tuple[tuple[_Stamp, ...], T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, files: Sequence[Path], read: Callable[[], T], key: Hashable = ()) -> T:
        """What ``read`` gives of files, read again only when one of them is another one.

        Of a file that is not there nothing is kept, nor what ``read`` raises.

        Args:
            key: tells two things apart that are read of the same files.
        """
        place = (tuple(files), key)
        try:
            stamps = tuple(_stamp(path) for path in files)
        except OSError:
            return read()
        with self._lock:
            kept = self._kept.get(place)
            if kept is not None and kept[0] == stamps:
                self._kept.move_to_end(place)
                return kept[1]
        # Not under the lock: a large file would hold up those who ask for another one.
        value = read()
        with self._lock:
            self._kept[place] = (stamps, value)
            self._kept.move_to_end(place)
            while len(self._kept) > 1 and self._bytes() > self._max_bytes:
                self._kept.popitem(last=False)
        return value

    def _bytes(self) -> int:
        return sum(size for stamps, _ in self._kept.values() for _, _, size in stamps)


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size
