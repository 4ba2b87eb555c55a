"""Carry out tasks in parallel threads, and return their outcomes through a queue as they become ready."""

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
    """The outcome of one task."""

    workers: str
    """Name of the ``Workers`` that carried it out."""
    task: T
    value: R | None
    """None if it failed."""
    error: Exception | None


class _End:
    """Wakes a thread that waits for a task, so that it ends."""


class Workers(Generic[T, R]):
    """A pool of threads, started on demand. They are daemon threads, so that a long task does not delay the exit."""

    def __init__(self, name: str, count: int, work: Callable[[T], R], outcomes: SimpleQueue[Outcome[Any, Any]]) -> None:
        """
        Args:
            count: maximum number of parallel tasks, from 1.
            work: carries out a task; an exception from it becomes the task's outcome.
            outcomes: receives the outcomes; several pools may share it.
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
        """Number of running tasks."""
        return self._at_work

    def add(self, task: T) -> None:
        """Queue a task."""
        self._tasks.put(task)
        if self._threads < self._count:
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self.name}-{self._threads}", daemon=True).start()

    def close(self) -> None:
        """Start no further tasks. Running tasks still deliver their outcomes, then the threads end."""
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
