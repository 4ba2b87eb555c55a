"""Carries out a benchmark run, phase by phase. Each does what is not recorded yet: a resume is the same call."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.benchmark.answering import GENERATE, RunModels, answer, spent_json
from chatbot_mvp.benchmark.datasets import Dataset
from chatbot_mvp.benchmark.journal import Journal
from chatbot_mvp.benchmark.preparation import PreparedRun
from chatbot_mvp.benchmark.records import RunFolder, utc_now
from chatbot_mvp.benchmark.results import SIMILARITY_PHASE, add_similarity, result_of, rows_of
from chatbot_mvp.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.benchmark.retrieving import retrieve
from chatbot_mvp.benchmark.run_queue import my_turn
from chatbot_mvp.benchmark.spending import BudgetReached, Spending
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import (
    CacheUnusable,
    ProviderQuotaExhausted,
    RunNotWritten,
    RunOutOfQuota,
    RunOverBudget,
    RunStopped,
)
from chatbot_mvp.kb.chunking import passage_chunk
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.retrieval.enrichment import PHASE as ENRICH
from chatbot_mvp.retrieval.index import vector_cache_path
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

RETRIEVAL_CALLS = "retrieval"
"""Under this name stands in a run's usage what enrichment, expansion and reranking asked a language model."""

_OF_THE_DISK = {
    *(errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO),
    *(errno.EROFS, errno.EACCES, errno.EPERM),
}
"""Anything else that the system says is no matter of the disk: a lost connection, a file that is not there."""

PipelineFactory = Callable[[Sequence[Chunk], str, Settings, ProgressCallback, Callable[[Completion], None]], Pipeline]
"""(chunks, language, settings, progress, told of every reply of a language model) -> the pipeline over them."""
Exporter = Callable[[RunFolder, Mapping[str, Any], Dataset], None]
"""Writes one finished run in one form."""


@dataclass(frozen=True)
class RunParts:
    """What a run is carried out with."""

    build: PipelineFactory
    embedder: Callable[[Settings], Embedder]
    models: Callable[[Settings], RunModels]
    exporters: Sequence[Exporter] = ()
    finish: Callable[[Mapping[str, Any]], None] = lambda _: None
    """Told of the whole result just before the run counts as finished; after a crash in between, told again."""


def execute(
    run: PreparedRun, parts: RunParts, progress: ProgressCallback, budget_usd: float | None = None
) -> dict[str, Any]:
    """Do what is missing of a run and write its result. Waits for its turn: one run works at a time.

    Args:
        progress: told of every step; may raise RunStopped, then what was recorded stays for a resume.
        budget_usd: of the whole run with its earlier attempts; None for no limit.

    Returns:
        The result as it stands in ``<run_id>.json``.

    Raises:
        RunBusy: somebody else works on this run.
        RunOutOfQuota, RunOverBudget, RunGaveUp, RunNotWritten: it ended early; what is recorded stays.
    """
    try:
        with _writing(run), run.folder.held(), my_turn(run.settings.run_lock_path, progress):
            journal = Journal(run.folder, forget_failed=run.retry_failed)
            spending = Spending(run.folder, budget_usd)
            run.folder.renew()
            with _ended_early(run, journal, spending):
                return _execute(run, parts, journal, spending, progress)
    except RunStopped as stop:
        # Whoever asked for the stop need not know the run's id.
        raise RunStopped(run_id=run.folder.run_id) from stop


def _execute(
    run: PreparedRun, parts: RunParts, journal: Journal, spending: Spending, progress: ProgressCallback
) -> dict[str, Any]:
    clock = _PhaseClock({"load": run.load_seconds})
    run.folder.event("run_start", resumed=bool(journal.of(RETRIEVE)))
    told = _within_budget(spending, _with_events(run.folder, progress))

    def build() -> Pipeline:
        with clock("index"):
            chunks = [passage_chunk(document) for document in run.dataset.documents]
            return parts.build(
                chunks,
                run.language,
                run.settings,
                told,
                lambda completion: spending.seen(RETRIEVAL_CALLS, completion),
            )

    with clock(RETRIEVE):
        retrieve(run, journal, build, told)
    clock.take(RETRIEVE, "index")
    if run.settings.generation_enabled:
        clock.seconds |= answer(run, journal, parts.models(run.settings), spending, progress)
    with clock("aggregate"):
        progress(Progress("aggregate", 0, 1))
        # Computed from what stands on disk alone.
        journal = Journal(run.folder)
        rows = rows_of(run, journal)
    if run.settings.generation_enabled:
        with clock(SIMILARITY_PHASE):
            cache = VectorCache(vector_cache_path(run.settings.cache_dir))
            add_similarity(rows, lambda: parts.embedder(run.settings), cache, progress)
    with clock("aggregate"):
        result = result_of(run, journal, rows)
    with clock("export"):
        progress(Progress("export", 0, 1))
        for export in parts.exporters:
            export(run.folder, result, run.dataset)
    result["seconds"] = clock.seconds
    result["usage"] = spent_json(spending)
    result["peak_rss_mb"] = peak_rss_mb()
    result["finished_at"] = utc_now()
    run.folder.event("run_complete", metrics=result["metrics"])
    parts.finish(result)
    # Last: its presence is what says that the run is finished.
    run.folder.finish(result)
    return result


@contextmanager
def _writing(run: PreparedRun) -> Iterator[None]:
    """A disk that is full or refuses, whatever was to be written: records, an index, a cache, the result."""
    run_id = run.folder.run_id
    try:
        yield
    except CacheUnusable as error:
        raise RunNotWritten(run_id=run_id, path=error.params["path"], reason=error.params["reason"]) from error
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        path = str(error.filename or run.folder.path)
        raise RunNotWritten(run_id=run_id, path=path, reason=error.strerror or str(error)) from error


@contextmanager
def _ended_early(run: PreparedRun, journal: Journal, spending: Spending) -> Iterator[None]:
    """Says of a budget or a quota that is used up how far the run came, wherever it asked a provider."""
    try:
        yield
    except BudgetReached as end:
        spent, budget = round(spending.total.cost_usd, 4), spending.budget_usd
        raise RunOverBudget(**_how_far(run, journal), spent=spent, budget=budget) from end
    except ProviderQuotaExhausted as end:
        raise RunOutOfQuota(**_how_far(run, journal), reason=end) from end


def _how_far(run: PreparedRun, journal: Journal) -> dict[str, Any]:
    phase = GENERATE if run.settings.generation_enabled else RETRIEVE
    return {"run_id": run.folder.run_id, "done": len(journal.of(phase)), "total": len(run.query_ids)}


def _within_budget(spending: Spending, progress: ProgressCallback) -> ProgressCallback:
    """``progress``, and a look at the budget between two batches of what retrieval asks a language model."""

    def report(state: Progress) -> None:
        if state.phase in (ENRICH, RETRIEVE) and state.done < state.total:
            spending.step()
        progress(state)

    return report


def _with_events(folder: RunFolder, progress: ProgressCallback) -> ProgressCallback:
    """``progress``, and an event for each batch of texts embedded."""

    def report(state: Progress) -> None:
        if state.phase == "embed_corpus" and state.done > state.done_before:
            folder.event("embedding_batch", done=state.done, total=state.total)
        progress(state)

    return report


class _PhaseClock:
    """Seconds per phase of this attempt."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = {phase: round(value, 3) for phase, value in seconds.items()}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        self.seconds.setdefault(phase, 0.0)
        yield
        self.seconds[phase] = round(self.seconds[phase] + time.monotonic() - started, 3)

    def take(self, outer: str, inner: str) -> None:
        """Count the time of a phase that ran within another one for itself alone."""
        self.seconds[outer] = round(self.seconds[outer] - self.seconds.get(inner, 0.0), 3)


def peak_rss_mb() -> float | None:
    """Highest resident memory of this process so far, in MB (10^6 bytes); None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)
