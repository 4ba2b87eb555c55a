"""Estimate a run by executing a few of its queries. A pilot leaves nothing behind except cache entries."""

from __future__ import annotations

import math
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

from chatbot_mvp.errors import RunError, RunProviderLeft, RunStopped
from chatbot_mvp.evaluation.benchmark.chunk_texts import chunk_texts_at_once, missing_chunk_texts, write_chunk_texts
from chatbot_mvp.evaluation.benchmark.estimate import (
    Amount,
    Estimate,
    PhaseEstimate,
    PilotReport,
    cost_of,
    seconds_per_call,
    total_of,
)
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute
from chatbot_mvp.evaluation.benchmark.worker import RunModels
from chatbot_mvp.llm.base import ChatModel, ChatRequest, Completion
from chatbot_mvp.llm.registry import find_provider, requests_at_once
from chatbot_mvp.llm.wrapped import WrappedModel
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVAL, RETRIEVE, generated_of, judged_of, retrieved_of
from chatbot_mvp.runs.spending import LLM_REQUEST, spent_of
from chatbot_mvp.runs.usage import NO_USAGE, Spent
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import ProgressCallback

STAND_IN = "LEXICAL"
"""Strategy of a pilot whose own strategy would first need every chunk enriched by a model."""
T = TypeVar("T")


class Extrapolation:
    """Extrapolates a pilot's records to the whole run."""

    def __init__(
        self,
        whole: PreparedRun,
        run: PreparedRun,
        written: Mapping[str, Sequence[Completion]],
        missing: Mapping[str, int],
    ) -> None:
        """
        Args:
            written: phase -> replies of the pilot that were written for chunks.
            missing: phase -> number of chunks without a reply before the pilot.
        """
        self._settings = whole.settings
        self._written = written
        self._missing = missing
        self._total = len(whole.queries)
        self._done = len(run.queries)
        self._rest = self._total - self._done
        self._stand_in = run.settings.retrieval_strategy if missing else ""
        self._kept = self._settings.llm_cache_enabled and self._settings.llm_temperature == 0 and not missing
        self._folder = run.folder
        self._events = list(run.folder.read_events(LLM_REQUEST))
        self._journal = Journal(run.folder)

    def estimate(self, seconds: float) -> Estimate:
        phases = [phase for phase in (*map(self._writing, self._written), self._retrieval()) if phase]
        if self._settings.generation_enabled:
            phases.append(self._answering(GENERATE, self._settings, self._generated()))
        if self._settings.judge:
            phases.append(self._answering(JUDGE, self._settings.of_judge, self._judged()))
        retrieve = self._retrieve_seconds()
        report = self._report(seconds)
        return Estimate("pilot", self._total, tuple(phases), total_of(phases, retrieve), retrieve, None, report)

    def _report(self, seconds: float) -> PilotReport:
        written = [Spent.of(completion) for replies in self._written.values() for completion in replies]
        spent = Spent.total([spent_of(event) for event in self._events] + written)
        return PilotReport(
            queries=self._done,
            failed=len(self._folder.failed_queries()),
            calls=spent.calls,
            cached=spent.cached,
            tokens=spent.tokens,
            cost_usd=None if spent.unpriced else round(spent.cost_usd, 6),
            seconds=round(seconds, 1),
            kept=self._kept,
            stand_in=self._stand_in,
        )

    def _generated(self) -> list[Spent]:
        """Return the usage of each generated answer."""
        return [generated_of(record).usage for record in self._journal.of(GENERATE).values() if record.status == "ok"]

    def _judged(self) -> list[Spent]:
        """Return the judge's usage for each answer. An abstention is not judged and counts as zero usage."""
        judged = self._journal.of(JUDGE)
        found = []
        for key, record in self._journal.of(GENERATE).items():
            if record.status == "ok" and generated_of(record).abstained:
                found.append(NO_USAGE)
            elif key in judged and (usage := judged_of(judged[key]).usage) is not None:
                found.append(usage)
        return found

    def _answering(self, phase: str, settings: Settings, samples: Sequence[Spent]) -> PhaseEstimate:
        has_model = find_provider(settings.chosen_provider).has_model
        free = self._done if self._kept and has_model else 0
        return self._of(phase, settings, samples, self._rest, self._total - free, requests_at_once(settings))

    def _writing(self, phase: str) -> PhaseEstimate | None:
        samples = [Spent.of(completion) for completion in self._written[phase]]
        if not samples:
            return None
        rest = self._missing[phase] - len(samples)
        at_once = chunk_texts_at_once(self._settings)
        # These replies have a cache of their own, so the run does not pay for them again even if others are not cached.
        return self._of(phase, self._settings, samples, rest, rest, at_once)

    def _retrieval(self) -> PhaseEstimate | None:
        samples = [spent_of(event) for event in self._events if event["phase"] == RETRIEVAL]
        if not samples:
            return None
        share = len(samples) / self._done
        to_pay = self._rest if self._kept else self._total
        return self._of(RETRIEVAL, self._settings, samples, round(self._rest * share), round(to_pay * share), 1)

    def _of(
        self, phase: str, settings: Settings, samples: Sequence[Spent], rest: int, to_pay: int, at_once: int
    ) -> PhaseEstimate:
        """
        Args:
            samples: usage of each query (or call) of the pilot.
            rest: number of queries (or calls) that the pilot did not execute.
            to_pay: number of queries (or calls) that the run will pay for.
        """
        calls = projected([sample.calls for sample in samples], rest)
        prompt = projected([sample.prompt_tokens for sample in samples], rest)
        reply = projected([sample.completion_tokens for sample in samples], rest)
        # Count cached replies at full cost: the run's other queries may not be cached.
        costs = [cost_of(settings, sample.prompt_tokens, sample.completion_tokens)[0] for sample in samples]
        known = [cost for cost in costs if cost is not None]
        price = cost_of(settings, 0, 0)[1]
        each = fmean([sample.calls for sample in samples]) if samples else 0.0
        seconds, basis = self._seconds(phase, settings, to_pay * each, at_once)
        return PhaseEstimate(
            phase=phase,
            model=settings.language_model,
            calls=calls.rounded(),
            free_calls=round((len(samples) + rest - to_pay) * each),
            prompt_tokens=prompt.rounded(),
            completion_tokens=reply.rounded(),
            seconds=seconds,
            seconds_basis=basis,
            cost_usd=projected(known, to_pay, done=False).rounded(6) if price is not None else None,
            price=price,
        )

    def _seconds(self, phase: str, settings: Settings, calls: float, at_once: int) -> tuple[Amount | None, Any]:
        """Return (seconds that ``calls`` calls take, source of that figure: "pilot", "earlier_runs" or "")."""
        if not calls:
            return Amount(0, 0, 0), "pilot"
        fresh = self._fresh(phase)
        if not fresh:
            each = seconds_per_call(self._settings.results_dir, settings.language_model, phase, at_once)
            return (None, "") if each is None else (Amount(calls * each).rounded(1), "earlier_runs")
        mean = fmean(fresh)
        spread_of = 2 * stdev(fresh) / mean / math.sqrt(len(fresh)) if len(fresh) > 1 and mean > 0 else 0.0
        expected = calls * mean / at_once
        return Amount(expected, expected * max(0.0, 1 - spread_of), expected * (1 + spread_of)).rounded(1), "pilot"

    def _fresh(self, phase: str) -> list[float]:
        """Return the seconds of each call that was not answered from the cache."""
        if phase in self._written:
            return [completion.seconds for completion in self._written[phase] if not completion.cached]
        return [event["seconds"] for event in self._events if event["phase"] == phase and not event["cached"]]

    def _retrieve_seconds(self) -> Amount:
        """Estimate the seconds of retrieval for all queries of the run, because the pilot's rankings are not reused."""
        found = [retrieved_of(record) for record in self._journal.of(RETRIEVE).values() if record.status == "ok"]
        taken = [sum(retrieved.seconds.values()) for retrieved in found]
        return projected(taken, self._total, done=False).rounded(1)


def projected(samples: Sequence[float], rest: int, *, done: bool = True) -> Amount:
    """Estimate the sum over the samples and ``rest`` similar values, with a range of two standard errors on each side.

    Args:
        done: True to include the samples in the sum; False for the ``rest`` only.
    """
    known = sum(samples) if done else 0.0
    if not samples or rest == 0:
        return Amount(known, known, known)
    expected = known + rest * fmean(samples)
    deviation = stdev(samples) if len(samples) > 1 else 0.0
    half = 2 * deviation * math.sqrt(rest + rest * rest / len(samples))
    return Amount(expected, max(known, expected - half), expected + half)


@contextmanager
def pilot_folder(cache_dir: Path) -> Iterator[Path]:
    """Yield a temporary folder for the records of a pilot."""
    parent = cache_dir / "pilots"
    make_folder(parent)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_pilot(
    whole: PreparedRun, count: int, parts: RunParts, progress: ProgressCallback, budget_usd: float | None = None
) -> Estimate:
    """Execute ``count`` queries of a run, and extrapolate to the whole run.

    Args:
        whole: the run, in a folder of ``pilot_folder``.
        parts: the parts of the run. The pilot writes no exports and is not added to the list of runs.
        budget_usd: limit for the pilot's answers, in US dollars; None for no limit.

    Raises:
        RunError (pilot_failed): the budget or quota did not suffice, or the provider does not answer.
        RunStopped: ``progress`` raised it.
        ProviderError: every request would fail.
    """
    started = time.monotonic()
    if whole.follows_choice:
        parts = parts.while_chosen("?", whole.settings.chosen_provider)
    queries = spread(whole.dataset.queries, count, whole.settings.corpus_shuffle_seed)
    run = replace(
        whole,
        corpus=replace(whole.corpus, dataset=replace(whole.dataset, queries=tuple(queries))),
        manifest=replace(whole.manifest, queries=len(queries)),
    )
    found = missing_chunk_texts(run.corpus.chunks(), run.language, run.settings)
    missing = {phase: prompts for phase, prompts in found.items() if prompts}
    asked: dict[str, list[Completion]] = {phase: [] for phase in missing}
    try:
        for phase, prompts in missing.items():
            model = parts.providers.language_model(run.settings, asked[phase].append)
            assert model is not None, "checked before the run was prepared"
            some = spread(prompts, count, run.settings.corpus_shuffle_seed)
            write_chunk_texts(phase, model, some, run.settings, progress)
        if missing:
            run = replace(run, settings=run.settings.with_changes(retrieval_strategy=STAND_IN))
        execute(run, _PilotParts(parts.factory, parts.embedders, parts.providers), progress, budget_usd)
    except RunStopped as error:
        raise RunStopped(run_id="?") from error
    except RunError as error:
        left = f"{error.params['chosen']!r} was chosen" if isinstance(error, RunProviderLeft) else ""
        reason = str(error.params.get("reason") or left or f"it would cost more than {budget_usd} USD.")
        raise RunError("pilot_failed", queries=len(queries), reason=reason) from error
    _require_replies(run)
    waiting = {phase: len(prompts) for phase, prompts in missing.items()}
    return Extrapolation(whole, run, asked, waiting).estimate(time.monotonic() - started)


class _PilotParts(RunParts):
    def models(self, settings: Settings) -> RunModels:
        return _unhurried(super().models(settings), settings)


def spread(items: Sequence[T], count: int, seed: int) -> list[T]:
    """Return ``count`` items at equal distances; the seed decides the position of the first one."""
    count = min(count, len(items))
    step = len(items) / max(1, count)
    offset = random.Random(seed).random()
    return [items[int((row + offset) * step)] for row in range(count)]


def _require_replies(run: PreparedRun) -> None:
    """Check that every phase got a reply: without one there is nothing to extrapolate, and 0 would be wrong.

    Raises:
        RunError (pilot_failed)
    """
    journal = Journal(run.folder)
    for phase in (RETRIEVE, GENERATE, JUDGE):
        records = list(journal.of(phase).values())
        if records and all(record.status == "failed" and "usage" not in record.payload for record in records):
            raise RunError("pilot_failed", queries=len(run.queries), reason=records[0].error)


def _unhurried(models: RunModels, settings: Settings) -> RunModels:
    """Limit the concurrent requests to what the providers accept, so that latencies contain no waiting time."""
    places = threading.Semaphore(requests_at_once(settings))
    generator = _Gated(models.generator, places)
    if models.judge is None:
        return replace(models, generator=generator)
    own = places if models.share_calls else threading.Semaphore(requests_at_once(settings.of_judge))
    return replace(models, generator=generator, judge=_Gated(models.judge, own))


class _Gated(WrappedModel):
    """Makes requests wait outside the model, so that the wait does not count as their latency."""

    def __init__(self, model: ChatModel, places: threading.Semaphore) -> None:
        super().__init__(model)
        self._places = places

    def complete(self, request: ChatRequest) -> Completion:
        with self._places:
            return super().complete(request)
