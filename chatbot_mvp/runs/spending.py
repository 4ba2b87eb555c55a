"""What the models of a run were asked and what it cost. The run's events are the ledger, so that a resume goes on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from chatbot_mvp.errors import BudgetWithoutPrice
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.llm.wrapped import TellingModel
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.usage import RunUsage, Spent

LLM_REQUEST = "llm_request"
"""The event of one answered request to a model."""

_MARGIN = 1.25
"""Times the dearest task so far, which the next may cost."""


class BudgetReached(Exception):
    """Another task could cost more than the budget has left. Caught by the run, which ends cleanly."""


class Spending:
    """Counts by phase. Safe to share between threads."""

    def __init__(self, folder: RunFolder, budget_usd: float | None = None) -> None:
        """Goes on from what the run's events tell of earlier attempts.

        Args:
            budget_usd: of the whole run, all attempts together; None for no limit.
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
            spent = _of_event(event)
            self._phases[event["phase"]] = self._phases.get(event["phase"], Spent()).plus(spent)
            self._dearest_request = max(self._dearest_request, spent.cost_usd)
        self._stepped = Spent.total(self._phases.values()).cost_usd

    @property
    def total(self) -> Spent:
        with self._changed:
            return Spent.total(self._phases.values())

    def by_phase(self) -> dict[str, Spent]:
        """Phase -> what it took, over all attempts."""
        with self._changed:
            return dict(self._phases)

    def usage(self) -> RunUsage:
        """The sums of all attempts, whole and by phase, as a result has them: costs rounded to millionths."""
        phases = {phase: _rounded(spent) for phase, spent in self.by_phase().items()}
        return RunUsage(**asdict(_rounded(self.total)), phases=phases)

    def seen(self, phase: str, completion: Completion) -> None:
        """Count an answered request, and write it to the events."""
        spent = Spent.of(completion)
        with self._changed:
            self._phases[phase] = self._phases.get(phase, Spent()).plus(spent)
            self._dearest_request = max(self._dearest_request, spent.cost_usd)
        values = {**asdict(spent), "cost_usd": None if spent.unpriced else spent.cost_usd}
        self._folder.event(
            LLM_REQUEST, phase=phase, model=completion.model, seconds=round(completion.seconds, 4), **values
        )

    def metered(self, phase: str, model: ChatModel) -> ChatModel:
        """``model``, each of whose replies is counted under ``phase``."""
        return TellingModel(model, lambda completion: self.seen(phase, completion))

    def begin(self, phase: str, requests: int = 1) -> None:
        """Ask before a task of so many requests that will spend; ``end`` must follow.

        With a budget, a task is held to cost somewhat more than the dearest of its phase so far. Until that is known
        nothing else is at work, and while the budget may not suffice for one more, it waits for those at work.

        Raises:
            BudgetReached: the budget may not suffice for it.
            BudgetWithoutPrice: a request's cost is not known, so that the budget cannot be kept.
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
            # Alone, so that nothing else is at work whose cost is not known either.
            guess = _MARGIN * requests * self._dearest_request
            return not self._at_work and self._room() > 0 and guess <= self._room()
        return _MARGIN * self._dearest[phase] <= self._room()

    def _room(self) -> float:
        """US dollars that neither were spent nor may be by what is at work. Needs a budget."""
        assert self.budget_usd is not None
        reserved = sum(count * self._dearest.get(name, 0.0) for name, count in self._in_flight.items())
        return self.budget_usd - Spent.total(self._phases.values()).cost_usd - _MARGIN * reserved

    def _check_prices(self) -> None:
        if unpriced := Spent.total(self._phases.values()).unpriced:
            raise BudgetWithoutPrice(calls=unpriced)

    def step(self) -> None:
        """Ask between two batches of requests that do not begin and end as tasks, as those of retrieval.

        The next one is held to cost somewhat more than the dearest so far.

        Raises:
            BudgetReached, BudgetWithoutPrice
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
        """A task that had begun is over.

        Args:
            cost_usd: of all its requests; None where it tells nothing of what others will cost: it failed, or its
                replies were kept ones.
        """
        with self._changed:
            self._in_flight[phase] -= 1
            if cost_usd is not None:
                self._dearest[phase] = max(cost_usd, self._dearest.get(phase, 0.0))
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody may begin any more; those who wait are told so."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _rounded(spent: Spent) -> Spent:
    return replace(spent, cost_usd=round(spent.cost_usd, 6))


def _of_event(event: Mapping[str, Any]) -> Spent:
    spent = Spent(**{name: event[name] for name in asdict(Spent()) if event.get(name) is not None})
    return replace(spent, unpriced=int(event.get("cost_usd") is None))
