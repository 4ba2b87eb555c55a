"""A cache in memory that stays within a bound: the values that were not used for the longest time leave first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Safe to share between threads. A value is never None and must not be changed, since others hold it too."""

    def __init__(self, most: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        """
        Args:
            most: the largest sum of weights that stays; the newest value stays in any case.
            weigh: a value's weight, by default 1, so that ``most`` is a number of values.
        """
        self._most = most
        self._weigh = weigh
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._building: dict[K, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value kept under ``key``, or None; it counts as used."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value, in place of the one that was kept under ``key``."""
        with self._lock:
            self._put(key, value)

    def get_or_build(self, key: K, build: Callable[[], V]) -> V:
        """The value kept under ``key``. If there is none, one thread builds it while others that want it wait.

        A value whose key is dropped while it is being built goes to the caller that built it and is not kept. What
        ``build`` raises goes to its caller; the next thread builds again.
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
                        continue  # it has been built, has failed or was dropped while this thread waited
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

    def drop(self, chosen: Callable[[K], bool]) -> None:
        """Forget the values of the chosen keys, those too that are being built."""
        with self._lock:
            for key in [key for key in self._values if chosen(key)]:
                self._remove(key)
            for key in [key for key in self._building if chosen(key)]:
                del self._building[key]

    def clear(self) -> None:
        """Forget every value."""
        self.drop(lambda _: True)

    def _put(self, key: K, value: V) -> None:
        self._remove(key)
        self._values[key] = value
        self._weight += self._weigh(value)
        while len(self._values) > 1 and self._weight > self._most:
            self._remove(next(iter(self._values)))

    def _remove(self, key: K) -> None:
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))
