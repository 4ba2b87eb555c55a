"""The loop of a run that asks models: worker threads carry out tasks, and the run's own thread records the outcomes.

A stop, a fatal failure or an exhausted budget ends the loop; tasks that finish soon afterwards are still recorded.
Tasks that failed for a temporary reason are tried again after all others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from chatbot_mvp.errors import ChatbotError, RunError
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.remote.failures import PASSING, concerns_one_request
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.runs.usage import Spent
from chatbot_mvp.runs.workers import Outcome, Workers

T = TypeVar("T")

_LOOK_EVERY_S = 0.2
_RECORDS_AT_ONCE = 32  # records per fsync
_PATIENCE_S = 5.0
"""Seconds after a stop in which running tasks may end and be recorded."""
_GIVE_UP_AFTER = 25
"""Number of successive failures after which a provider counts as unavailable."""
THREADS_PER_CALL = 4
"""Threads per allowed concurrent request, because threads that wait before a retry leave their request slots unused."""
_LATER_TRIES = 2
"""Number of late retries of a task after a temporary failure of the provider. Each has the retries of NIM_MAX_RETRIES:
if a provider fails one request in four, 4 failures in a row hit one query in 200, and 12 in a row practically none."""
_REST_S = 1.0
"""Seconds to wait before a late retry, so that a very short outage does not use it up."""


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a task."""

    record: QueryRecord
    passing: bool = False
    """True if it failed for a temporary reason, so that a retry may succeed."""
    of_provider: bool = True
    """True if a failure counts towards _GIVE_UP_AFTER."""


def failed_task(run_id: str, query_id: str, phase: str, error: ChatbotError) -> Done:
    """Create the outcome of a failed task.

    Raises:
        ChatbotError: ``error`` itself, if every other task would fail in the same way.
    """
    if not concerns_one_request(error):
        raise error
    record = QueryRecord(run_id, query_id, phase, "failed", {"code": error.code}, str(error))
    return Done(record, isinstance(error, PASSING))


@contextmanager
def costed(spending: Spending, phase: str, requests: int = 1) -> Iterator[list[Completion]]:
    """Reserve budget for a task of ``requests`` requests. The block appends its completions to the yielded list."""
    spending.begin(phase, requests)
    completions: list[Completion] = []
    try:
        yield completions
    finally:
        paid = [Spent.of(item) for item in completions if not item.cached]
        spending.end(phase, Spent.total(paid).cost_usd if paid else None)


@dataclass(frozen=True, slots=True)
class Lane(Generic[T]):
    """One kind of task."""

    calls: int
    """Number of concurrent requests, from 1."""
    work: Callable[[T], Done]
    """Carries out a task in one of the lane's threads. An exception from it ends the loop."""


class TaskLoop(Generic[T]):
    """Distributes tasks to lanes and records their outcomes. Used only by the thread that holds the run's lock."""

    def __init__(self, run_id: str, journal: Journal, spending: Spending, lanes: Mapping[str, Lane[T]]) -> None:
        """
        Args:
            lanes: name -> lane. Late retries of a lane wait until the lanes before it have no open tasks.
        """
        self._run_id = run_id
        self._journal = journal
        self._spending = spending
        self._outcomes: SimpleQueue[Outcome[T, Done]] = SimpleQueue()
        self._workers = {
            name: Workers(name, THREADS_PER_CALL * lane.calls, lane.work, self._outcomes)
            for name, lane in lanes.items()
        }
        self._waiting = dict.fromkeys(lanes, 0)
        self._late: dict[str, list[tuple[T, QueryRecord]]] = {name: [] for name in lanes}
        """Failed tasks that wait for a late retry. They are not recorded yet, so that a resume repeats them."""
        self._tries: Counter[tuple[str, T]] = Counter()
        self._rested = dict.fromkeys(lanes, 0.0)
        self._failures = dict.fromkeys(lanes, 0)
        """Lane -> number of successive failures."""
        self._began: dict[str, float] = {}
        self._seconds = dict.fromkeys(lanes, 0.0)

    @property
    def busy(self) -> bool:
        """Whether any task is waiting, running or due for a retry."""
        return any(self._waiting.values()) or any(self._late.values())

    def waiting(self, lane: str) -> int:
        """Return the number of a lane's tasks that are waiting or running."""
        return self._waiting[lane]

    def open(self, lane: str) -> int:
        """Return the number of a lane's tasks that are waiting, running or due for a retry."""
        return self._waiting[lane] + len(self._late[lane])

    def seconds(self, lane: str) -> float:
        """Return the seconds from a lane's first task to its latest record."""
        return round(self._seconds[lane], 3)

    def seconds_so_far(self, lane: str) -> float:
        """Return the seconds from a lane's first task to now; 0 before the first task."""
        return time.monotonic() - self._began[lane] if lane in self._began else 0.0

    def give(self, lane: str, task: T) -> None:
        """Queue a task."""
        self._began.setdefault(lane, time.monotonic())
        self._waiting[lane] += 1
        self._workers[lane].add(task)

    @contextmanager
    def winding_up(self) -> Iterator[None]:
        """When the block ends, for whatever reason, start no further tasks and record those that end soon."""
        try:
            yield
        finally:
            self._wind_up()

    def step(self, recorded: Callable[[QueryRecord], None] = lambda _: None) -> None:
        """Wait a moment for outcomes and record them.

        Args:
            recorded: called with each record after it is written.

        Raises:
            RunError (run_gave_up): 25 tasks failed in succession.
            ProviderError: every request would fail.
            RunError (run_not_written, budget_without_price), BudgetReached: the run cannot continue.
        """
        self._give_late()
        outcomes = self._ready()
        fatal: Exception | None = None
        records = []
        for outcome in outcomes:
            self._waiting[outcome.workers] -= 1
            if outcome.value is None:
                fatal = fatal or outcome.error
                continue
            failed = outcome.value.record.status == "failed" and outcome.value.of_provider
            self._failures[outcome.workers] = self._failures[outcome.workers] + 1 if failed else 0
            if not self._put_off(outcome.workers, outcome.task, outcome.value):
                records.append(outcome.value.record)
                self._seconds[outcome.workers] = self.seconds_so_far(outcome.workers)
        self._journal.add(records)
        if fatal is not None:
            raise fatal
        for record in records:
            recorded(record)
        self._look_for_an_outage(outcomes)

    def _ready(self) -> list[Outcome[T, Done]]:
        try:
            outcomes = [self._outcomes.get(timeout=_LOOK_EVERY_S)]
        except Empty:
            return []
        while len(outcomes) < _RECORDS_AT_ONCE:
            try:
                outcomes.append(self._outcomes.get_nowait())
            except Empty:
                break
        return outcomes

    def _give_late(self) -> None:
        before = 0
        for name, late in self._late.items():
            before += self._waiting[name]
            if late and not before and time.monotonic() >= self._rested[name]:
                for task, _ in late:
                    self.give(name, task)
                late.clear()

    def _put_off(self, lane: str, task: T, done: Done) -> bool:
        """Queue a failed task for a late retry; return whether it was queued instead of being recorded."""
        if not done.passing or self._tries[lane, task] >= _LATER_TRIES:
            return False
        self._tries[lane, task] += 1
        self._late[lane].append((task, done.record))
        self._rested[lane] = time.monotonic() + _REST_S
        return True

    def _look_for_an_outage(self, outcomes: list[Outcome[T, Done]]) -> None:
        for outcome in outcomes:
            if outcome.value is None or self._failures[outcome.workers] < _GIVE_UP_AFTER:
                continue
            # Record the postponed tasks as failed: the error tells the user to retry them.
            self._journal.add([record for _, record in self._late[outcome.workers]])
            reason = outcome.value.record.error or "no reason given."
            raise RunError("run_gave_up", run_id=self._run_id, failures=_GIVE_UP_AFTER, reason=reason)

    def _wind_up(self) -> None:
        for workers in self._workers.values():
            workers.close()
        self._spending.close()
        deadline = time.monotonic() + _PATIENCE_S
        records = []
        while any(workers.at_work for workers in self._workers.values()) or not self._outcomes.empty():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                outcome = self._outcomes.get(timeout=min(left, _LOOK_EVERY_S))
            except Empty:
                continue
            # Do not record temporary failures, so that a resume repeats them.
            if outcome.value is not None and not outcome.value.passing:
                records.append(outcome.value.record)
        self._journal.add(records)
