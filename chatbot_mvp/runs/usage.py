"""Sums of the requests, tokens and cost of a run's models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from chatbot_mvp.llm.base import Completion
from chatbot_mvp.storage.limits import Amount, Count, Name


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, tokens and cost, summed over answered requests."""

    calls: Count
    cached: Count
    """Number of ``calls`` that were answered from the cache of replies, at no cost."""
    prompt_tokens: Count
    completion_tokens: Count
    """Tokens of the requests whose provider reported them. The tokens of cached replies count, too."""
    cost_usd: Amount
    unpriced: Count
    """Number of requests whose cost is unknown; ``cost_usd`` does not include them."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: Spent) -> Spent:
        mine, theirs = asdict(self), asdict(other)
        return Spent(**{name: mine[name] + theirs[name] for name in mine})

    @classmethod
    def of(cls, completion: Completion) -> Spent:
        usage = completion.usage
        cost = 0.0 if completion.cached else usage.cost_usd
        return cls(
            calls=1,
            cached=int(completion.cached),
            prompt_tokens=usage.prompt_tokens or 0,
            completion_tokens=usage.completion_tokens or 0,
            cost_usd=cost or 0.0,
            unpriced=int(cost is None),
        )

    @classmethod
    def total(cls, parts: Iterable[Spent]) -> Spent:
        result = NO_USAGE
        for part in parts:
            result = result.plus(part)
        return result

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "cost_usd": round(self.cost_usd, 6)}


NO_USAGE = Spent(0, 0, 0, 0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class RunUsage(Spent):
    """Usage over all attempts of a run, in total and by phase."""

    phases: dict[Name, Spent]
    """Phase -> usage of that phase."""

    def to_json(self) -> dict[str, Any]:
        return {**Spent.to_json(self), "phases": {name: spent.to_json() for name, spent in self.phases.items()}}
