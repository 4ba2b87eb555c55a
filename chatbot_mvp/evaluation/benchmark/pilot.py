"""Estimate a run by executing a few of its queries. A pilot leaves nothing behind except cache entries."""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from chatbot_mvp.errors import RunError, RunProviderLeft, RunStopped
from chatbot_mvp.evaluation.benchmark.chunk_texts import missing_chunk_texts, write_chunk_texts
from chatbot_mvp.evaluation.benchmark.estimate import Estimate
from chatbot_mvp.evaluation.benchmark.extrapolation import Extrapolation
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute
from chatbot_mvp.evaluation.benchmark.worker import RunModels
from chatbot_mvp.llm.base import ChatModel, ChatRequest, Completion
from chatbot_mvp.llm.registry import requests_at_once
from chatbot_mvp.llm.wrapped import WrappedModel
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVE
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import ProgressCallback

STAND_IN = "LEXICAL"
"""Strategy of a pilot whose own strategy would first need every chunk enriched by a model."""

T = TypeVar("T")


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
