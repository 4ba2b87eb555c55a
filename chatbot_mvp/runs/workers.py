"""Threads that carry out tasks side by side; the outcomes come back through one queue, as they are ready."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T, R]):
    """What became of one task."""

    workers: str
    """Name of the workers that it was given to."""
    task: T
    value: R | None
    """None if it failed."""
    error: Exception | None


class _End:
    """Wakes a thread that waits for a task, so that it ends."""


class Workers(Generic[T, R]):
    """Threads are begun as tasks come, and do not keep the process alive: a task at work may be a long wait."""

    def __init__(self, name: str, count: int, work: Callable[[T], R], outcomes: SimpleQueue[Outcome[Any, Any]]) -> None:
        """
        Args:
            count: tasks at work at the same time, from 1.
            work: carries out a task; what it raises is the task's outcome.
            outcomes: one queue may be shared by several workers.
        """
        self.name = name
        self._count = count
        self._work = work
        self._outcomes = outcomes
        self._tasks: SimpleQueue[T | _End] = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._at_work = 0

    @property
    def at_work(self) -> int:
        """Tasks that were begun and have no outcome yet."""
        return self._at_work

    def add(self, task: T) -> None:
        """Give a task; it is begun when a thread is free."""
        self._tasks.put(task)
        if self._threads < self._count:
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self.name}-{self._threads}", daemon=True).start()

    def close(self) -> None:
        """Begin no further task; those at work still give their outcomes, and the threads end."""
        self._closed.set()
        for _ in range(self._threads):
            self._tasks.put(_End())

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            with self._lock:
                if self._closed.is_set() or isinstance(task, _End):
                    return
                self._at_work += 1
            value, failure = None, None
            try:
                value = self._work(task)
            except Exception as error:  # noqa: BLE001 - told to whoever reads the outcomes
                failure = error
            self._outcomes.put(Outcome(self.name, task, value, failure))
            with self._lock:
                self._at_work -= 1
