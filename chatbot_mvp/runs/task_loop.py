"""The loop of a run that asks models: tasks go to threads, what comes back is recorded by the run's own thread.

Nothing is lost but what is on its way: a stop, a fatal failure or a budget end the loop, and what then ends soon is
still recorded. What failed for a reason that may pass is tried again, after all the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from chatbot_mvp.errors import ChatbotError, RunGaveUp
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.remote.failures import PASSING, concerns_one_request
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.runs.usage import Spent
from chatbot_mvp.runs.workers import Outcome, Workers

T = TypeVar("T")

_LOOK_EVERY_S = 0.2
_RECORDS_AT_ONCE = 32  # between two fsyncs
_PATIENCE_S = 5.0
"""After a stop, how long what is at work may take to end and be recorded."""
_GIVE_UP_AFTER = 25
"""Failures in a row after which a provider is taken to be away: the others would only fail as well."""
_THREADS_PER_CALL = 4
"""Of four threads three may be waiting to try again, and would leave their places at the provider empty."""
_LATER_TRIES = 2
"""How often a task that a passing failure of the provider cost is tried again, after all the others. Each try has the
repetitions of NIM_MAX_RETRIES: of a provider that fails one request in four, 4 times in a row is one query in 200, and
12 times in a row none that will be seen."""
_REST_S = 1.0
"""Before such a try: what is over in a second should not cost it."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a task has come to."""

    record: QueryRecord
    passing: bool = False
    """It failed for a reason that may be gone when it is tried again."""
    of_provider: bool = True
    """A failure counts among those in a row after which the provider is taken to be away."""


def failed_task(run_id: str, query_id: str, phase: str, error: ChatbotError) -> Done:
    """A task that failed by itself.

    Raises:
        ChatbotError: ``error``, if no other task would survive it either.
    """
    if not concerns_one_request(error):
        raise error
    record = QueryRecord(run_id, query_id, phase, "failed", {"code": error.code}, str(error))
    return Done(record, isinstance(error, PASSING))


@contextmanager
def costed(spending: Spending, phase: str, requests: int = 1) -> Iterator[list[Completion]]:
    """Holds the budget for a task of so many requests; what it appends is what the task has cost."""
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
    """Requests at the same time, from 1."""
    work: Callable[[T], Done]
    """Carries out a task, in one of the lane's threads. What it raises ends the loop."""


class TaskLoop(Generic[T]):
    """For the thread that holds the run."""

    def __init__(self, run_id: str, journal: Journal, spending: Spending, lanes: Mapping[str, Lane[T]]) -> None:
        """
        Args:
            lanes: name -> it; a later one waits with its later tries for the earlier ones.
        """
        self._run_id = run_id
        self._journal = journal
        self._spending = spending
        self._outcomes: SimpleQueue[Outcome[T, Done]] = SimpleQueue()
        self._workers = {
            name: Workers(name, _THREADS_PER_CALL * lane.calls, lane.work, self._outcomes)
            for name, lane in lanes.items()
        }
        self._waiting = dict.fromkeys(lanes, 0)
        self._late: dict[str, list[tuple[T, QueryRecord]]] = {name: [] for name in lanes}
        """Failures that are tried again; not recorded, so that after a crash they are missing."""
        self._tries: Counter[tuple[str, T]] = Counter()
        self._rested = dict.fromkeys(lanes, 0.0)
        self._failures = dict.fromkeys(lanes, 0)
        """In a row."""
        self._began: dict[str, float] = {}
        self._seconds = dict.fromkeys(lanes, 0.0)

    @property
    def busy(self) -> bool:
        """Whether a task is waiting, at work or to be tried again."""
        return any(self._waiting.values()) or any(self._late.values())

    def waiting(self, lane: str) -> int:
        """Tasks that were given and are not through."""
        return self._waiting[lane]

    def open(self, lane: str) -> int:
        """The same, with those that are to be tried again."""
        return self._waiting[lane] + len(self._late[lane])

    def seconds(self, lane: str) -> float:
        """From the first task to the latest record."""
        return round(self._seconds[lane], 3)

    def seconds_so_far(self, lane: str) -> float:
        """From the first task to now; 0 before there is one."""
        return time.monotonic() - self._began[lane] if lane in self._began else 0.0

    def give(self, lane: str, task: T) -> None:
        """Queue a task."""
        self._began.setdefault(lane, time.monotonic())
        self._waiting[lane] += 1
        self._workers[lane].add(task)

    @contextmanager
    def winding_up(self) -> Iterator[None]:
        """However the block ends: nothing more is begun, and what ends soon is recorded."""
        try:
            yield
        finally:
            self._wind_up()

    def step(self, recorded: Callable[[QueryRecord], None] = lambda _: None) -> None:
        """Wait a moment for outcomes and record them.

        Args:
            recorded: told of each record, once it is written.

        Raises:
            RunGaveUp, RunNotWritten, BudgetReached, BudgetWithoutPrice
            ProviderError: one that no request would survive.
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
        """Whether a task is to be tried again later in place of being recorded as failed."""
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
            # Now they count as failed: a retry is what the error tells to do.
            self._journal.add([record for _, record in self._late[outcome.workers]])
            reason = outcome.value.record.error or "no reason given."
            raise RunGaveUp(run_id=self._run_id, failures=_GIVE_UP_AFTER, reason=reason)

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
            # What may yet go well is left missing.
            if outcome.value is not None and not outcome.value.passing:
                records.append(outcome.value.record)
        self._journal.add(records)
