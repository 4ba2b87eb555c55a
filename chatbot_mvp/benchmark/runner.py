"""Carries out a benchmark run, phase by phase. Each does what is not recorded yet: a resume is the same call."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.benchmark.answering import RunModels, answer, spent_json
from chatbot_mvp.benchmark.datasets import Dataset
from chatbot_mvp.benchmark.journal import Journal
from chatbot_mvp.benchmark.preparation import PreparedRun
from chatbot_mvp.benchmark.records import RunFolder, utc_now, write_json
from chatbot_mvp.benchmark.results import SIMILARITY_PHASE, add_similarity, result_of, rows_of
from chatbot_mvp.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.benchmark.retrieving import retrieve
from chatbot_mvp.benchmark.run_queue import my_turn
from chatbot_mvp.benchmark.spending import Spending
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import RunNotWritten, RunStopped
from chatbot_mvp.kb.chunking import passage_chunk
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.retrieval.index import vector_cache_path
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

RETRIEVAL_CALLS = "retrieval"
"""Under this name stands in a run's usage what enrichment, expansion and reranking asked a language model."""

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
        with run.folder.held(), my_turn(run.settings.run_lock_path, progress):
            return _execute(run, parts, progress, budget_usd)
    except RunStopped as stop:
        # Whoever asked for the stop need not know the run's id.
        raise RunStopped(run_id=run.folder.run_id) from stop


def _execute(run: PreparedRun, parts: RunParts, progress: ProgressCallback, budget_usd: float | None) -> dict[str, Any]:
    clock = _PhaseClock({"load": run.load_seconds})
    journal = Journal(run.folder, forget_failed=run.retry_failed)
    spending = Spending(run.folder, budget_usd)
    run.folder.event("run_start", resumed=bool(journal.of(RETRIEVE)))

    def build() -> Pipeline:
        with clock("index"):
            chunks = [passage_chunk(document) for document in run.dataset.documents]
            return parts.build(
                chunks,
                run.language,
                run.settings,
                _with_events(run.folder, progress),
                lambda completion: spending.seen(RETRIEVAL_CALLS, completion),
            )

    with clock(RETRIEVE):
        retrieve(run, journal, build, progress)
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
    with clock("export"), _writing(run):
        progress(Progress("export", 0, 1))
        for export in parts.exporters:
            export(run.folder, result, run.dataset)
    result["seconds"] = clock.seconds
    result["usage"] = spent_json(spending)
    result["peak_rss_mb"] = peak_rss_mb()
    result["finished_at"] = utc_now()
    run.folder.event("run_complete", metrics=result["metrics"])
    with _writing(run):
        parts.finish(result)
        # Last: its presence is what says that the run is finished.
        write_json(run.folder.result_path, result)
    return result


@contextmanager
def _writing(run: PreparedRun) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        name = str(error.filename or run.folder.result_path.name)
        reason = error.strerror or str(error)
        raise RunNotWritten(run_id=run.folder.run_id, path=name, reason=reason) from error


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
