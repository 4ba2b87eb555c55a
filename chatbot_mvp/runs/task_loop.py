"""The loop of a run that asks models: worker threads carry out tasks, and the run's own thread records the outcomes.

A stop, a fatal failure or an exhausted budget ends the loop; tasks that finish soon afterwards are still recorded.
Tasks that failed for a temporary reason are tried again after all others.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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


class _End:
    """Wakes a thread that waits for a task, so that it ends."""


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    pool: _Pool[T]
    task: T
    done: Done | None
    """None if the task raised ``error``."""
    error: Exception | None


class _Pool(Generic[T]):
    """The threads of one lane and the state of its tasks.

    The threads are started on demand. They are daemon threads, so that a long task does not delay the exit.
    """

    def __init__(self, name: str, lane: Lane[T], outcomes: SimpleQueue[_Outcome[T]]) -> None:
        self._name = name
        self._most = THREADS_PER_CALL * lane.calls
        self._work = lane.work
        self._outcomes = outcomes
        self._tasks: SimpleQueue[T | _End] = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = False
        self.at_work = 0
        """Number of running tasks."""
        # The threads use none of the following.
        self.waiting = 0
        """Number of tasks that are waiting or running."""
        self.late: list[tuple[T, QueryRecord]] = []
        """Failed tasks that wait for a late retry. They are not recorded yet, so that a resume repeats them."""
        self.tries: Counter[T] = Counter()
        self.rests_until = 0.0
        self.failures = 0
        """Number of successive failures."""
        self.began: float | None = None
        self.seconds = 0.0

    @property
    def seconds_so_far(self) -> float:
        return 0.0 if self.began is None else time.monotonic() - self.began

    def add(self, task: T) -> None:
        if self.began is None:
            self.began = time.monotonic()
        self.waiting += 1
        self._tasks.put(task)
        if self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()

    def close(self) -> None:
        """Start no further tasks. Running tasks still deliver their outcomes, then the threads end."""
        with self._lock:
            self._closed = True
        for _ in range(self._threads):
            self._tasks.put(_End())

    def put_off(self, task: T, done: Done) -> bool:
        """Queue a failed task for a late retry; return whether it was queued instead of being recorded."""
        if not done.passing or self.tries[task] >= _LATER_TRIES:
            return False
        self.tries[task] += 1
        self.late.append((task, done.record))
        self.rests_until = time.monotonic() + _REST_S
        return True

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            with self._lock:
                if self._closed or isinstance(task, _End):
                    return
                self.at_work += 1
            done, failure = None, None
            try:
                done = self._work(task)
            except Exception as error:  # noqa: BLE001 - told to whoever reads the outcomes
                failure = error
            self._outcomes.put(_Outcome(self, task, done, failure))
            with self._lock:
                self.at_work -= 1


class TaskLoop(Generic[T]):
    """Distributes tasks to lanes and records their outcomes. Used only by the thread that holds the run's lock."""

    def __init__(self, run_id: str, journal: Journal, spending: Spending, lanes: Mapping[str, Lane[T]]) -> None:
        """``lanes`` by name: late retries of a lane wait until the lanes before it have no open tasks."""
        self._run_id = run_id
        self._journal = journal
        self._spending = spending
        self._outcomes: SimpleQueue[_Outcome[T]] = SimpleQueue()
        self._pools = {name: _Pool(name, lane, self._outcomes) for name, lane in lanes.items()}

    @property
    def busy(self) -> bool:
        """Whether any task is waiting, running or due for a retry."""
        return any(self.open(lane) for lane in self._pools)

    def waiting(self, lane: str) -> int:
        """Return the number of a lane's tasks that are waiting or running."""
        return self._pools[lane].waiting

    def open(self, lane: str) -> int:
        """Return the number of a lane's tasks that are waiting, running or due for a retry."""
        return self._pools[lane].waiting + len(self._pools[lane].late)

    def seconds(self, lane: str) -> float:
        """Return the seconds from a lane's first task to its latest record."""
        return round(self._pools[lane].seconds, 3)

    def seconds_so_far(self, lane: str) -> float:
        """Return the seconds from a lane's first task to now; 0 before the first task."""
        return self._pools[lane].seconds_so_far

    def give(self, lane: str, task: T) -> None:
        """Queue a task."""
        self._pools[lane].add(task)

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
            pool, done = outcome.pool, outcome.done
            pool.waiting -= 1
            if done is None:
                fatal = fatal or outcome.error
                continue
            pool.failures = pool.failures + 1 if done.record.status == "failed" and done.of_provider else 0
            if not pool.put_off(outcome.task, done):
                records.append(done.record)
                pool.seconds = pool.seconds_so_far
        self._journal.add(records)
        if fatal is not None:
            raise fatal
        for record in records:
            recorded(record)
        self._look_for_an_outage(outcomes)

    def _ready(self) -> list[_Outcome[T]]:
        outcomes: list[_Outcome[T]] = []
        with suppress(Empty):
            outcomes.append(self._outcomes.get(timeout=_LOOK_EVERY_S))
            while len(outcomes) < _RECORDS_AT_ONCE:
                outcomes.append(self._outcomes.get_nowait())
        return outcomes

    def _give_late(self) -> None:
        before = 0
        for pool in self._pools.values():
            before += pool.waiting
            if pool.late and not before and time.monotonic() >= pool.rests_until:
                for task, _ in pool.late:
                    pool.add(task)
                pool.late.clear()

    def _look_for_an_outage(self, outcomes: list[_Outcome[T]]) -> None:
        for outcome in outcomes:
            if outcome.done is None or outcome.pool.failures < _GIVE_UP_AFTER:
                continue
            # Record the postponed tasks as failed: the error tells the user to retry them.
            self._journal.add([record for _, record in outcome.pool.late])
            reason = outcome.done.record.error or "no reason given."
            raise RunError("run_gave_up", run_id=self._run_id, failures=_GIVE_UP_AFTER, reason=reason)

    def _wind_up(self) -> None:
        for pool in self._pools.values():
            pool.close()
        self._spending.close()
        deadline = time.monotonic() + _PATIENCE_S
        records = []
        while any(pool.at_work for pool in self._pools.values()) or not self._outcomes.empty():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                outcome = self._outcomes.get(timeout=min(left, _LOOK_EVERY_S))
            except Empty:
                continue
            # Do not record temporary failures, so that a resume repeats them.
            if outcome.done is not None and not outcome.done.passing:
                records.append(outcome.done.record)
        self._journal.add(records)
