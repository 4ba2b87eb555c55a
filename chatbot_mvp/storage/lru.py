"""Bounded cache in memory that removes the least recently used values first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

T = TypeVar("T")
_Stamp = tuple[int, int, int]
"""Inode, time of the last change in ns, size in bytes. At least one of them changes when the file is written again."""


class BoundedCache(Generic[K, V]):
    """Thread-safe LRU cache. Values must not be None, and must not be changed, because all callers share them."""

    def __init__(self, most: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        """
        Args:
            most: maximum sum of the weights of the kept values. The newest value is always kept.
            weigh: returns the weight of a value; by default 1, so that ``most`` is a number of values.
        """
        self.evicted = 0
        """How many values had to leave so far because others were used more recently."""
        self._most = most
        self._weigh = weigh
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._building: dict[K, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the value of ``key`` and mark it as recently used; None if there is no value."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""
        with self._lock:
            self._put(key, value)

    def get_or_build(self, key: K, build: Callable[[], V]) -> V:
        """Return the value of ``key``. If it is missing, one thread builds it while other callers wait.

        If the key is dropped during the build, only the caller that built the value gets it, and it is not kept. If
        ``build`` raises an error, its caller gets the error, and the next waiting thread builds again.
        """
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
                building = self._building.setdefault(key, threading.Lock())
            with building:
                with self._lock:
                    if self._building.get(key) is not building:
                        continue  # the value was built, failed or was dropped while this thread waited
                try:
                    value = build()
                    with self._lock:
                        if self._building.get(key) is building:
                            self._put(key, value)
                    return value
                finally:
                    with self._lock:
                        if self._building.get(key) is building:
                            del self._building[key]

    def newest(self, chosen: Callable[[K], bool]) -> V | None:
        """Return the most recently used value of the keys for which ``chosen`` is true; None if there is none."""
        with self._lock:
            return next((self._values[key] for key in reversed(self._values) if chosen(key)), None)

    def values(self, chosen: Callable[[K], bool]) -> list[V]:
        """Return the values of the keys for which ``chosen`` is true."""
        with self._lock:
            return [value for key, value in self._values.items() if chosen(key)]

    def drop(self, chosen: Callable[[K], bool]) -> list[V]:
        """Remove and return the values of the keys for which ``chosen`` is true. Those being built will not be kept."""
        with self._lock:
            removed = [self._values[key] for key in self._values if chosen(key)]
            for key in [key for key in self._values if chosen(key)]:
                self._remove(key)
            for key in [key for key in self._building if chosen(key)]:
                del self._building[key]
            return removed

    def clear(self) -> None:
        """Remove all values."""
        self.drop(lambda _: True)

    def _put(self, key: K, value: V) -> None:
        self._remove(key)
        self._values[key] = value
        self._weight += self._weigh(value)
        while len(self._values) > 1 and self._weight > self._most:
            self._remove(next(iter(self._values)))
            self.evicted += 1

    def _remove(self, key: K) -> None:
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))


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
