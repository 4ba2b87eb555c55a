"""The estimate of a run before it starts: model calls, tokens, seconds and US dollars by phase.

``lengths`` estimates without a request; ``pilot`` executes a few queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Literal

from chatbot_mvp.llm.base import Usage
from chatbot_mvp.llm.prices import load_prices
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVAL
from chatbot_mvp.runs.records import run_folders
from chatbot_mvp.runs.spending import LLM_REQUEST
from chatbot_mvp.settings.model import Settings

CHARS_PER_TOKEN = 4.0
"""Typical for Spanish and English prose: 3.5 to 4.5 characters per token, depending on the tokenizer."""

_RUNS_LOOKED_AT, _RUNS_USED = 20, 3  # earlier runs, for their latencies


@dataclass(frozen=True, slots=True)
class Amount:
    """An expected figure, with a range of about 95 % if a pilot gives one."""

    expected: float
    low: float | None = None
    high: float | None = None

    def plus(self, other: Amount) -> Amount:
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Amount(self.expected + other.expected, low, high)

    def rounded(self, digits: int | None = None) -> Amount:
        low, high = (None if value is None else round(value, digits) for value in (self.low, self.high))
        return Amount(round(self.expected, digits), low, high)


@dataclass(frozen=True, slots=True)
class PhaseEstimate:
    """The estimated requests of one phase to one model."""

    phase: str
    """"enrich" (contexts of chunks), "questions" (of chunks), "retrieval" (reranking and expansion), "generate" or
    "judge"."""
    model: str
    """Provider and model."""
    calls: Amount
    free_calls: int
    """The part of ``calls`` that the pilot has already put into the reply cache, at no further cost or time."""
    prompt_tokens: Amount
    """Prompt tokens of all calls, cached ones included."""
    completion_tokens: Amount
    seconds: Amount | None
    """Expected seconds with the concurrent requests that the settings allow; None if no latency is known."""
    seconds_basis: Literal["pilot", "earlier_runs", ""]
    cost_usd: Amount | None
    """None if no price is known."""
    price: dict[str, Any] | None
    """``input`` and ``output`` (US dollars per million tokens), ``date`` and ``source``; None if no price is known."""


@dataclass(frozen=True, slots=True)
class Total:
    """Totals over the phases. Seconds may be less than the sum, because judging can overlap with answering."""

    calls: Amount
    prompt_tokens: Amount
    completion_tokens: Amount
    seconds: Amount | None
    """Seconds of all model calls, without loading, indexing and aggregating; None if those of a phase are unknown."""
    cost_usd: Amount | None
    """None if the price of a phase's model is unknown."""


@dataclass(frozen=True, slots=True)
class PilotReport:
    """The queries, requests and cost of the pilot itself."""

    queries: int
    failed: int
    """Number of pilot queries for which a phase failed. The estimate is based on the others."""
    calls: int
    cached: int
    """The part of ``calls`` that was answered from the cache. It is extrapolated at full cost, like the others."""
    tokens: int
    cost_usd: float | None
    seconds: float
    kept: bool
    """True if the pilot's replies are in the cache, so that the run reuses them at no cost."""
    stand_in: str
    """The strategy used instead of the run's, which would have had to enrich every chunk first; else ""."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a whole run."""

    basis: Literal["lengths", "pilot"]
    queries: int
    phases: tuple[PhaseEstimate, ...]
    total: Total
    retrieve_seconds: Amount | None
    """Seconds of retrieval including its model calls; None without a pilot."""
    chars_per_token: float | None
    """Characters per token used to estimate tokens; None if the provider counted them."""
    pilot: PilotReport | None = None


def total_of(phases: Sequence[PhaseEstimate], retrieve_seconds: Amount | None = None) -> Total:
    """Sum up the phases.

    Args:
        retrieve_seconds: measured seconds that replace those of the phase "retrieval"; None without a measurement.
    """
    none = Amount(0, 0, 0)
    calls, prompt, reply = none, none, none
    cost: Amount | None = none
    for phase in phases:
        calls, prompt = calls.plus(phase.calls), prompt.plus(phase.prompt_tokens)
        reply = reply.plus(phase.completion_tokens)
        cost = None if cost is None or phase.cost_usd is None else cost.plus(phase.cost_usd)
    return Total(
        calls.rounded(),
        prompt.rounded(),
        reply.rounded(),
        _total_seconds(phases, retrieve_seconds),
        None if cost is None else cost.rounded(6),
    )


def _total_seconds(phases: Sequence[PhaseEstimate], retrieve_seconds: Amount | None) -> Amount | None:
    total = retrieve_seconds or Amount(0, 0, 0)
    answering: dict[str, Amount] = {}
    for phase in phases:
        if phase.seconds is None:
            return None
        if phase.phase in (GENERATE, JUDGE):
            # Models of one provider share its request limit; models of two providers are asked in parallel.
            provider = phase.model.partition("/")[0]
            answering[provider] = answering[provider].plus(phase.seconds) if provider in answering else phase.seconds
        elif phase.phase != RETRIEVAL or retrieve_seconds is None:
            total = total.plus(phase.seconds)
    if answering:
        total = total.plus(max(answering.values(), key=lambda amount: amount.expected))
    return total.rounded(1)


def cost_of(
    settings: Settings, prompt_tokens: float, completion_tokens: float
) -> tuple[float | None, dict[str, Any] | None]:
    """Return (US dollars, row of the price table) of the tokens at the chosen model; None if no price is known."""
    name = settings.chosen_provider
    if not find_provider(name).has_model:
        return 0.0, {"input": 0.0, "output": 0.0, "date": None, "source": ""}
    prices = load_prices(settings.data_dir / "prices.toml")
    row = prices.row(name, settings.model_of(name))
    if row is None:
        return None, None
    cost = prices.cost(name, settings.model_of(name), Usage(round(prompt_tokens), round(completion_tokens)))
    return cost, row.model_dump(mode="json", include={"input", "output", "date", "source"})


def seconds_per_call(results_dir: Path, model: str, phase: str, at_once: int) -> float | None:
    """Return the seconds that a call adds to a phase with ``at_once`` concurrent calls; None if there are no events.

    Uses the newest runs on this machine that asked the model in this phase. Enrichment and questions of chunks count as
    retrieval, as in a run's usage.
    """
    wanted = RETRIEVAL if phase in ("enrich", "questions") else phase
    found: list[float] = []
    for folder in run_folders(results_dir)[:_RUNS_LOOKED_AT]:
        events = [
            event
            for event in folder.read_events(LLM_REQUEST)
            if event.get("model") == model and event.get("phase") == wanted and not event.get("cached")
        ]
        if (each := share_of_time(events, at_once)) is not None:
            found.append(each)
        if len(found) == _RUNS_USED:
            break
    return median(found) if found else None


def share_of_time(events: Sequence[Mapping[str, Any]], at_once: int) -> float | None:
    """Return the seconds per call; None without calls.

    The smaller of median latency / ``at_once`` and busy time / calls. A latency includes the wait for a request slot,
    which other calls used meanwhile.
    """
    if not events:
        return None
    latency: float = median(event["seconds"] for event in events) / at_once
    return min(latency, busy_seconds(events) / len(events))


def busy_seconds(events: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds during which at least one call was running. Pauses between calls do not count."""
    busy, until = 0.0, float("-inf")
    spans = sorted(
        (datetime.fromisoformat(event["time"]).timestamp() - event["seconds"], event["seconds"]) for event in events
    )
    for start, seconds in spans:
        end = start + seconds
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return busy
