"""Execute a benchmark run phase by phase. Each phase does only what is not recorded, so a resume is the same call."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import RunError, RunProviderLeft
from chatbot_mvp.evaluation.benchmark.answering import Answering
from chatbot_mvp.evaluation.benchmark.engine import BuildWorker, Engine, LocalEngine, run_engine
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.results import (
    QUESTIONS_CHECKED,
    SIMILARITY_PHASE,
    result_of,
    rows_of,
    with_similarity,
)
from chatbot_mvp.evaluation.benchmark.worker import RunModels, RunWorker, asks_model, run_models
from chatbot_mvp.llm.chosen import Left, ModelSource
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.retrieval.indexes.enrichment import PHASE as ENRICH
from chatbot_mvp.retrieval.indexes.questions import PHASE as QUESTIONS
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.kinds import BENCHMARK
from chatbot_mvp.runs.line import append_submission
from chatbot_mvp.runs.parts import ShardParts
from chatbot_mvp.runs.payloads import GENERATE, RETRIEVAL, RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.runs.session import Session, working_on
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback

_log = logging.getLogger(__name__)

Exporter = Callable[[RunFolder, RunResult], None]
"""Writes one finished run in one form."""


@dataclass(frozen=True)
class RunParts:
    """The components that a run needs."""

    factory: PipelineFactory
    embedders: Embedders
    providers: ModelSource
    exporters: Sequence[Exporter] = ()
    submissions: Path | None = None
    """``submissions.jsonl``, with one line per finished run; None to keep the run off the list of runs."""
    build_worker: BuildWorker | None = None
    """Builds the worker of a run in another process; None to let all runs work in this process."""

    def models(self, settings: Settings) -> RunModels:
        """Return the generator and the judge of a run. Raises the errors of ``run_models``."""
        return run_models(settings, self.providers)

    def while_chosen(self, run_id: str, provider: str) -> Self:
        """Return the parts of a run on behalf of the chosen provider, whose requests raise ``RunProviderLeft`` once
        another one is chosen.
        """
        providers = self.providers.while_chosen(provider, _provider_left(run_id, provider))
        return replace(self, providers=providers, factory=self.factory.asking(providers))

    def finish(self, result: RunResult) -> None:
        """Add a run to the list, just before it is marked as finished. A resume after a crash may call this again."""
        if self.submissions is not None:
            append_submission(self.submissions, result)


def execute(
    run: PreparedRun, parts: RunParts, progress: ProgressCallback, budget_usd: float | None = None
) -> RunResult:
    """Execute the missing parts of a run and write its result. Waits for other runs, since only one works at a time.

    Args:
        progress: called at every step. May raise RunStopped; the records stay for a resume.
        budget_usd: limit for the whole run including earlier attempts, in US dollars; None for no limit.

    Returns:
        The result, as written to ``<run_id>.json``.

    Raises:
        RunError (run_busy): another process or thread works on this run.
        RunError, RunProviderLeft: the run ended early; its records stay.
    """
    with _session(run, progress, budget_usd) as session:
        rows = _rows(run, parts, session)
        with session.clock("aggregate"):
            result = result_of(run, Journal(run.folder), rows)
        with session.clock("export"):
            session.progress(Progress("export", 0, 1))
            for export in parts.exporters:
                export(run.folder, result)
        return session.finish(result, parts.finish)


def execute_rows(
    run: PreparedRun, parts: RunParts, progress: ProgressCallback, budget_usd: float | None = None
) -> list[QueryRow]:
    """Execute the missing parts of a run as ``execute`` does, and return its rows without writing a result.

    A later call with more queries in the corpus of ``run`` executes only these. Arguments and errors are those of
    ``execute``.
    """
    with _session(run, progress, budget_usd) as session:
        return _rows(run, parts, session)


def _session(run: PreparedRun, progress: ProgressCallback, budget_usd: float | None) -> AbstractContextManager[Session]:
    return working_on(
        run.folder,
        run.settings,
        progress,
        phase=GENERATE if run.settings.generation_enabled else RETRIEVE,
        total=len(run.query_ids),
        lock_path=run.corpus.lock_path(run.settings),
        load_seconds=run.load_seconds,
        budget_usd=budget_usd,
        retry_failed=run.retry_failed,
    )


def _rows(run: PreparedRun, parts: RunParts, session: Session) -> list[QueryRow]:
    """Execute what has no record yet, and return the row of each query."""
    clock, spending, progress = session.clock, session.spending, session.progress
    if run.follows_choice:
        parts = parts.while_chosen(run.folder.run_id, run.settings.chosen_provider)
        progress = _while_chosen(run, parts, progress)
    told = clock.watching(_watched(run.folder, spending, progress))

    parts_of_workers = ShardParts(run.folder, run.manifest)
    parts_of_workers.absorb(session.journal, spending)
    with _engine(run, parts, spending.budget_usd) as engine:
        with clock(RETRIEVE):
            _retrieve(run, session.journal, engine, spending, told)
        if run.settings.generation_enabled:
            clock.seconds |= Answering(run, session.journal, engine, spending, progress).work()
    parts_of_workers.absorb(session.journal, spending)
    with clock("aggregate"):
        progress(Progress("aggregate", 0, 1))
        # Read the records from disk, so that the rows depend on nothing else.
        rows = rows_of(run, Journal(run.folder))
    if run.settings.generation_enabled:
        with clock(SIMILARITY_PHASE):
            cache = VectorCache(vector_cache_path(run.settings.cache_dir))
            rows = with_similarity(rows, lambda: parts.embedders.of(run.settings), cache, progress)
    return rows


def _retrieve(
    run: PreparedRun, journal: Journal, engine: Engine, spending: Spending, progress: ProgressCallback
) -> None:
    """Retrieve for all queries without a ranking, and record the rankings.

    Raises:
        RunError (run_out_of_quota): a provider used in retrieval has no quota left; the records stay.
    """
    missing = journal.missing(RETRIEVE, run.query_ids)
    if not missing:
        return
    progress(Progress("index", 0, len(run.dataset.documents)))
    questions = engine.prepare(missing, progress, partial(spending.seen, RETRIEVAL))
    if questions is not None:
        run.folder.event(QUESTIONS_CHECKED, **asdict(questions))
    total, before = len(run.queries), len(run.queries) - len(missing)
    done = before
    started = time.monotonic()
    progress(Progress(RETRIEVE, before, total, 0.0, before))
    for found in engine.search(engine.shards(missing)):
        journal.add(found.records)
        for record in found.records:
            if reason := retrieved_of(record).rerank_error:
                _log.warning(
                    "query %r was not reranked, and its passages keep their order: %s", record.query_id, reason
                )
        engine.recorded(RETRIEVE, [record.query_id for record in found.records])
        done += len(found.records)
        if found.refused:
            raise RunError("run_out_of_quota", run_id=run.manifest.run_id, done=done, total=total, reason=found.refused)
        progress(Progress(RETRIEVE, done, total, time.monotonic() - started, before, failed=journal.failed(RETRIEVE)))


def _engine(run: PreparedRun, parts: RunParts, budget_usd: float | None) -> AbstractContextManager[Engine]:
    """Start the engine of EVAL_ENGINE. Runs over a knowledge base always work here: they measure the time of a chat."""
    worker = RunWorker(run, parts.factory, parts.models)
    if parts.build_worker is None or run.corpus.kind != BENCHMARK:
        return nullcontext(LocalEngine(worker))
    return run_engine(run.settings).start(worker, parts.build_worker, budget_usd)


def _provider_left(run_id: str, provider: str) -> Left:
    return lambda now: RunProviderLeft(run_id=run_id, provider=provider, chosen=now)


def _while_chosen(run: PreparedRun, parts: RunParts, progress: ProgressCallback) -> ProgressCallback:
    """Wrap ``progress`` to end a run on a cluster when its provider is left: its workers do not see the choice."""
    settings = run.settings
    provider = settings.chosen_provider
    if not run_engine(settings).elsewhere or not asks_model(settings):
        return progress

    def report(state: Progress) -> None:
        if (now := parts.providers.chosen) != provider:
            raise _provider_left(run.folder.run_id, provider)(now)
        progress(state)

    return report


def _watched(folder: RunFolder, spending: Spending, progress: ProgressCallback) -> ProgressCallback:
    """Wrap the ``progress`` of retrieval to record each batch of embedded texts, and to check the budget between the
    batches in which retrieval asks a language model."""

    def report(state: Progress) -> None:
        if state.phase in (ENRICH, QUESTIONS, RETRIEVE) and state.done < state.total:
            spending.step()
        if state.phase == "embed_corpus" and state.done > state.done_before:
            folder.event("embedding_batch", done=state.done, total=state.total)
        progress(state)

    return report
