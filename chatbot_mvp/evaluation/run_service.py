"""Plan, estimate, start, resume and stop benchmark runs, in the foreground and in the background."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import RunError, UnknownChoice
from chatbot_mvp.evaluation.benchmark.engine import run_engine
from chatbot_mvp.evaluation.benchmark.estimate import Estimate
from chatbot_mvp.evaluation.benchmark.pilot import pilot_folder, run_pilot
from chatbot_mvp.evaluation.benchmark.plan import RunPlan, plan_run
from chatbot_mvp.evaluation.benchmark.preparation import (
    PreparedRun,
    Readable,
    prepare_run,
    reopen_run,
    run_settings,
)
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute
from chatbot_mvp.evaluation.benchmark.worker import run_models
from chatbot_mvp.evaluation.run_sources import RunSources, names_kb
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.llm.creation import readable_chars
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.retrieval.pipeline import require_language_model
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.systems import with_system
from chatbot_mvp.runs.kinds import KB, RUN_KINDS, run_kind
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback, ignore_progress


class RunService:
    """Starts, resumes and stops runs. Safe to share between sessions: holds no state of a single user."""

    def __init__(
        self, live: LiveSettings, sources: RunSources, parts: RunParts, jobs: JobManager, kb_jobs: JobManager, app: Any
    ) -> None:
        """
        Args:
            jobs: the queue of all runs but those over knowledge bases.
            kb_jobs: the queue of the runs over knowledge bases, which do not wait for a long benchmark.
            app: the App, which the kinds of runs resume with.
        """
        self._live = live
        self._sources = sources
        self._parts = parts
        self._jobs = jobs
        self._kb_jobs = kb_jobs
        self._app = app

    @performs(Action.MEASURE)
    def plan_run(self, *, preset: str = "", **changes: Any) -> RunPlan:
        """Plan a benchmark run, with an estimate of its model requests. Sends, executes and writes nothing.

        Args:
            preset, changes: as in ``start_run``.

        Raises:
            ConfigurationError, DatasetError, StorageError: as the run would.
        """
        settings = self._asked_for(preset, changes, lambda _: None)  # no request is sent for a plan
        found = self._sources.find(settings.mteb_dataset_name)
        path = vector_cache_path(settings.cache_dir)

        def cached_vectors(texts: list[str]) -> int:
            embedder = self._parts.embedders.of(settings)
            return VectorCache(path).count(embedder, texts, "passage") if path.is_file() else 0

        return plan_run(found, settings, cached_vectors, lambda: self._sources.load(found))

    def pilot(
        self,
        queries: int,
        progress: ProgressCallback = ignore_progress,
        *,
        budget_usd: float | None = None,
        preset: str = "",
        **changes: Any,
    ) -> Estimate:
        """Estimate a run by executing a few of its queries. The run itself then reuses the cached replies.

        Keeps no records of a run. Indexes, vectors and the copy of the data set stay; the run itself reuses them.

        Raises:
            ConfigurationError, DatasetError, StorageError, ProviderError: as the run would.
            RunError (pilot_failed): a budget or quota did not suffice, or the provider failed query after query.
            RunStopped
        """
        settings = self._asked_for(preset, changes)
        found = self._sources.find(settings.mteb_dataset_name)
        with pilot_folder(settings.cache_dir) as folder:
            whole = prepare_run(folder, found.reference, partial(self._sources.load, found, progress), settings)
            return run_pilot(self._following(whole), queries, self._parts, progress, budget_usd)

    @performs(Action.READ)
    def strategies(self) -> Mapping[str, str]:
        """Return name -> summary of the strategies that the configured provider and models support."""
        has_model = self._parts.providers.language_model(self._live.current) is not None
        return {
            name: strategy.summary
            for name, strategy in STRATEGIES.items()
            if has_model or not strategy.needs_language_model
        }

    @performs(Action.MEASURE)
    def start_run(self, *, budget_usd: float | None = None, preset: str = "", **changes: Any) -> str:
        """Check and queue a benchmark run in the background.

        Args:
            budget_usd: upper limit of the run's cost in US dollars; None for no limit.
            preset: a system of ``SYSTEMS`` whose settings take the place of those in effect; "" for none.
            changes: settings by name, which take precedence over those of the preset.

        Returns:
            The run's id, which is also the id of its job.

        Raises:
            ConfigurationError, DatasetError, StorageError, ProviderNotConfigured: at once, before any file of the
            run is written.
        """
        run = self.prepare(changes, preset=preset)
        self._queue(run.folder.run_id, lambda progress: self.execute(run, progress, budget_usd))
        return run.folder.run_id

    @performs(Action.MEASURE)
    def resume_run(self, run_id: str, *, retry_failed: bool = False, budget_usd: float | None = None) -> None:
        """Queue a run as ``resume_now`` carries it out. Raises RunNotFound, RunError, RunUnreadable."""
        self._queue(run_id, partial(self.resume_now, run_id, retry_failed=retry_failed, budget_usd=budget_usd))

    @performs(Action.MEASURE)
    def stop_run(self, run_id: str) -> None:
        """Ask a queued or running run to stop. Its records stay."""
        self._queue_of(run_id).stop(run_id)

    @performs(Action.MEASURE)
    def discard_run(self, run_id: str) -> None:
        """Delete what was recorded of a run that has no result, and how its job ended. A finished run stays.

        Raises:
            RunNotFound
            RunError (run_busy): it is at work, or in the queue.
        """
        queue, folder = self._queue_of(run_id), self._folder(run_id)
        if (status := queue.status(run_id)) is not None and status.active:
            raise RunError("run_busy", run_id=run_id)
        queue.forget(run_id)
        if folder.state() == "unfinished":
            shutil.rmtree(folder.path, ignore_errors=True)

    def run_now(
        self,
        progress: ProgressCallback = ignore_progress,
        *,
        budget_usd: float | None = None,
        preset: str = "",
        **changes: Any,
    ) -> RunResult:
        """Execute a benchmark run in this thread and return its result; arguments as in ``start_run``."""
        return self.execute(self.prepare(changes, progress, preset), progress, budget_usd)

    def resume_now(
        self,
        run_id: str,
        progress: ProgressCallback = ignore_progress,
        *,
        retry_failed: bool = False,
        budget_usd: float | None = None,
    ) -> RunResult:
        """Execute the missing queries of a run of any kind in this thread, and return its result.

        Args:
            retry_failed: repeat the failed queries, too, even of a finished run.
        """
        kind = run_kind(self._folder(run_id).manifest().kind)
        if not kind.resume:
            raise UnknownChoice(kind="kind of run", found=kind.name, legal=", ".join(RUN_KINDS))
        result: RunResult = attribute(kind.resume)(self._app, run_id, progress, retry_failed, budget_usd)
        return result

    def prepare(
        self, changes: Mapping[str, Any], progress: ProgressCallback = ignore_progress, preset: str = ""
    ) -> PreparedRun:
        """Check a run and create its folder, for ``execute``.

        Args:
            changes, preset: as in ``start_run``.

        Raises:
            ConfigurationError, DatasetError, StorageError, ProviderNotConfigured, KbError: before anything is written.
        """
        settings = self._asked_for(preset, changes)
        # The resolved reference, because a resume from another working directory must find a relative folder again.
        found = self._sources.find(settings.mteb_dataset_name)
        load = partial(self._sources.load, found, progress)
        return self._following(prepare_run(settings.results_dir, found.reference, load, settings, preset))

    def execute(self, run: PreparedRun, progress: ProgressCallback, budget_usd: float | None = None) -> RunResult:
        """Execute what is missing of a prepared run in this thread, as ``runner.execute`` does."""
        return execute(run, self._parts, progress, budget_usd)

    @performs(Action.READ)
    def so_far(self, run_id: str) -> Mapping[str, tuple[float | None, int, int]]:
        """Return metric -> (mean so far, number of scores, expected number) of a run at work; empty for most kinds.

        Raises:
            RunNotFound, RunUnreadable
        """
        folder = self._folder(run_id)
        manifest = folder.manifest()
        kind = run_kind(manifest.kind)
        found: Mapping[str, tuple[float | None, int, int]] = {}
        return attribute(kind.so_far)(folder, manifest) if kind.so_far else found

    @performs(Action.READ)
    def jobs(self) -> list[JobStatus]:
        """List the background jobs of runs, newest first."""
        of_kbs = [job for job in self._kb_jobs.statuses() if (self._live.current.results_dir / job.job_id).is_dir()]
        return sorted([*self._jobs.statuses(), *of_kbs], key=lambda job: job.job_id, reverse=True)

    # --- wiring

    def _asked_for(self, preset: str, changes: Mapping[str, Any], readable: Readable = readable_chars) -> Settings:
        settings = with_system(self._live.current, preset, self._live.is_outside)
        return self.of_run(settings.with_changes(**changes), readable)

    def of_run(self, settings: Settings, readable: Readable = readable_chars) -> Settings:
        """Return the settings of a run that is started with ``settings``, after checking that its models can be used.

        ``readable`` is as in ``run_settings``.

        Raises:
            ConfigurationError, ProviderNotConfigured
        """
        require_language_model(settings, self._parts.providers.language_model(settings))
        run_engine(settings).require(settings)
        if settings.generation_enabled:
            run_models(settings, self._parts.providers)
        if names_kb(settings.mteb_dataset_name):
            # Measured as the chat works: on the whole text, in its language, with the chat's context.
            return settings.with_changes(dev_mode=False, eval_max_corpus=0, retrieval_bm25_language="")
        return run_settings(settings, readable)

    def reopen(
        self, run_id: str, progress: ProgressCallback = ignore_progress, retry_failed: bool = False
    ) -> PreparedRun:
        """Read a run over a data set or a knowledge base from its folder, for ``execute``. Raises as ``reopen_run``."""
        settings, folder = self._live.current, self._folder(run_id)
        load = partial(self._sources.reload, progress=progress)
        return self._following(reopen_run(folder, load, settings, retry_failed=retry_failed))

    def _following(self, run: PreparedRun) -> PreparedRun:
        """Mark a run whose provider is the chosen one. One that is not was named for the run, and is kept."""
        return replace(run, follows_choice=run.settings.chosen_provider == self._parts.providers.chosen)

    def _queue(self, run_id: str, work: Callable[[ProgressCallback], object]) -> None:
        manifest = self._folder(run_id).manifest()
        # People know a knowledge base by its name, which may change: its questions have one, too.
        data = str(manifest.evaluation.get("set_name") or manifest.dataset)
        title = " · ".join(part for part in (data, manifest.strategy, manifest.generator) if part)
        self._queue_of(run_id).submit(run_id, title, work)

    def _queue_of(self, run_id: str) -> JobManager:
        return self._kb_jobs if self._folder(run_id).manifest().kind == KB else self._jobs

    def _folder(self, run_id: str) -> RunFolder:
        return RunFolder(self._live.current.results_dir, run_id)


def resume_benchmark(
    app: Any, run_id: str, progress: ProgressCallback, retry_failed: bool, budget_usd: float | None
) -> RunResult:
    """Carry out what is missing of a run over a data set or a knowledge base (``RunKind.resume``)."""
    runs: RunService = app.runs
    return runs.execute(runs.reopen(run_id, progress, retry_failed), progress, budget_usd)
