"""Count a run's model requests and their cost, and keep its budget. The counts are restored from the run's events."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from chatbot_mvp.errors import RunError
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.llm.wrapped import TellingModel
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.usage import NO_USAGE, RunUsage, Spent

LLM_REQUEST = "llm_request"
"""Name of the event that records one answered request to a model."""

_MARGIN = 1.25
"""Safety factor: the next task is assumed to cost this many times the most expensive one so far."""


class BudgetReached(Exception):
    """The next task could exceed the budget. The run catches this error and ends cleanly."""


class Spending:
    """Counts requests and cost by phase. Safe to share between threads."""

    def __init__(self, folder: RunFolder, budget_usd: float | None = None) -> None:
        """Restore the counts of earlier attempts from the run's events.

        Args:
            budget_usd: limit for all attempts of the run together, in US dollars; None for no limit.
        """
        self._folder = folder
        self.budget_usd = budget_usd
        self._phases: dict[str, Spent] = {}
        self._dearest: dict[str, float] = {}
        self._in_flight: dict[str, int] = {}
        self._dearest_request = 0.0
        self._dearest_step = 0.0
        self._closed = False
        self._changed = threading.Condition()
        for event in folder.read_events(LLM_REQUEST):
            spent = spent_of(event)
            self._phases[event["phase"]] = self._phases.get(event["phase"], NO_USAGE).plus(spent)
            self._dearest_request = max(self._dearest_request, spent.cost_usd)
        self._stepped = Spent.total(self._phases.values()).cost_usd

    @property
    def total(self) -> Spent:
        with self._changed:
            return Spent.total(self._phases.values())

    def by_phase(self) -> dict[str, Spent]:
        """Return phase -> sums over all attempts."""
        with self._changed:
            return dict(self._phases)

    def usage(self) -> RunUsage:
        """Return the usage of all attempts, in total and by phase. Costs are rounded to millionths of a dollar."""
        phases = {phase: _rounded(spent) for phase, spent in self.by_phase().items()}
        return RunUsage(**asdict(_rounded(self.total)), phases=phases)

    def seen(self, phase: str, completion: Completion) -> None:
        """Count an answered request, and write it to the events."""
        spent = Spent.of(completion)
        with self._changed:
            self._phases[phase] = self._phases.get(phase, NO_USAGE).plus(spent)
            self._dearest_request = max(self._dearest_request, spent.cost_usd)
        values = {**asdict(spent), "cost_usd": None if spent.unpriced else spent.cost_usd}
        self._folder.event(
            LLM_REQUEST, phase=phase, model=completion.model, seconds=round(completion.seconds, 4), **values
        )

    def metered(self, phase: str, model: ChatModel) -> ChatModel:
        """Wrap ``model`` so that each of its replies is counted under ``phase``."""
        return TellingModel(model, lambda completion: self.seen(phase, completion))

    def begin(self, phase: str, requests: int = 1) -> None:
        """Reserve budget for a task of ``requests`` requests. Every ``begin`` needs an ``end``.

        With a budget, a task is assumed to cost 1.25 times the most expensive one of its phase so far. The first task
        of a phase runs alone, because its cost is unknown. If the budget may not suffice, this waits for running tasks.

        Raises:
            BudgetReached: the budget may not suffice for the task.
            RunError (budget_without_price): the cost of a request is unknown, so the budget cannot be kept.
        """
        with self._changed:
            if self.budget_usd is not None:
                self._changed.wait_for(lambda: self._closed or self._may_begin(phase, requests) or not self._at_work)
                if self._closed or not self._may_begin(phase, requests):
                    raise BudgetReached
                self._check_prices()
            self._in_flight[phase] = self._in_flight.get(phase, 0) + 1

    @property
    def _at_work(self) -> int:
        return sum(self._in_flight.values())

    def _may_begin(self, phase: str, requests: int) -> bool:
        if phase not in self._dearest:
            # Run the first task alone, so that the cost of at most one running task is unknown.
            guess = _MARGIN * requests * self._dearest_request
            return not self._at_work and self._room() > 0 and guess <= self._room()
        return _MARGIN * self._dearest[phase] <= self._room()

    def _room(self) -> float:
        """Return the US dollars that are neither spent nor reserved for running tasks. Needs a budget."""
        assert self.budget_usd is not None
        reserved = sum(count * self._dearest.get(name, 0.0) for name, count in self._in_flight.items())
        return self.budget_usd - Spent.total(self._phases.values()).cost_usd - _MARGIN * reserved

    def _check_prices(self) -> None:
        if unpriced := Spent.total(self._phases.values()).unpriced:
            raise RunError("budget_without_price", calls=unpriced)

    def step(self) -> None:
        """Check the budget between batches of requests that are not tasks, as in retrieval.

        The next batch is assumed to cost 1.25 times the most expensive one so far.

        Raises:
            BudgetReached, RunError (budget_without_price): as in ``begin``.
        """
        with self._changed:
            if self.budget_usd is None:
                return
            self._check_prices()
            spent = Spent.total(self._phases.values()).cost_usd
            self._dearest_step = max(self._dearest_step, spent - self._stepped)
            self._stepped = spent
            if _MARGIN * self._dearest_step > self._room():
                raise BudgetReached

    def end(self, phase: str, cost_usd: float | None) -> None:
        """Release the reservation of a finished task.

        Args:
            cost_usd: cost of all its requests; None if it does not indicate the cost of others, because the task made
                no paid request (it failed early, or its replies were cached).
        """
        with self._changed:
            self._in_flight[phase] -= 1
            if cost_usd is not None:
                self._dearest[phase] = max(cost_usd, self._dearest.get(phase, 0.0))
            self._changed.notify_all()

    def close(self) -> None:
        """Refuse all further tasks. Waiting ``begin`` calls raise BudgetReached."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _rounded(spent: Spent) -> Spent:
    return replace(spent, cost_usd=round(spent.cost_usd, 6))


def spent_of(event: Mapping[str, Any]) -> Spent:
    """Return the usage in one ``llm_request`` event. A request without a price counts as one in ``unpriced``."""
    known = {name: event[name] for name in asdict(NO_USAGE) if event.get(name) is not None}
    return replace(NO_USAGE, **{**known, "unpriced": int(event.get("cost_usd") is None)})
