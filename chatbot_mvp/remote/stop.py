"""Ends requests from another thread, so that a provider stops working on a reply that nobody waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Ends all requests of one answer, also those that wait for their first byte. Can be set once, by any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._cuts: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """End the requests under way. Later ones are not sent."""
        with self._lock:
            self._event.set()
            for cut in self._cuts:
                cut()

    @contextmanager
    def cutting(self, cut: Callable[[], None]) -> Iterator[None]:
        """Call ``cut`` if the stop is set within the ``with`` block. ``cut`` must not block."""
        with self._lock:
            self._cuts.append(cut)
        try:
            yield
        finally:
            with self._lock:
                self._cuts.remove(cut)


class StopWhen(Stop):
    """A stop that a condition sets too. A request that is at the provider when the condition comes true is not cut."""

    def __init__(self, stop: Stop, condition: Callable[[], bool]) -> None:
        """
        Args:
            stop: the stop of the request itself.
            condition: once true, no further request is sent. Asked before every try, from several threads.
        """
        super().__init__()
        self._stop = stop
        self._condition = condition

    @property
    def is_set(self) -> bool:
        return self._stop.is_set or self._condition()

    def set(self) -> None:
        self._stop.set()

    @contextmanager
    def cutting(self, cut: Callable[[], None]) -> Iterator[None]:
        with self._stop.cutting(cut):
            yield
