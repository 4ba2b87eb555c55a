"""The benchmark's half of the App: runs in the foreground and in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chatbot_mvp.datasets.service import DatasetService
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.benchmark.answering import RunModels
from chatbot_mvp.evaluation.benchmark.estimate import Estimate
from chatbot_mvp.evaluation.benchmark.pilot import pilot_folder, run_pilot
from chatbot_mvp.evaluation.benchmark.plan import RunPlan, plan_run
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun, prepare_run, reopen_run, run_settings
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.benchmark.runner import PipelineFactory, RunParts, execute
from chatbot_mvp.evaluation.ragas.rows import InputRow
from chatbot_mvp.evaluation.ragas.service import RagasService
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.registry import address_of, readable_chars, requests_at_once
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.retrieval.pipeline import require_language_model
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.index import append_submission
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RAGAS, RunResult
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback, ignore_progress

LanguageModelFactory = Callable[[Settings, Callable[[Completion], None]], LanguageModel | None]
"""(settings, told of every reply) -> what retrieval may ask; None for a provider without a model."""


class Bench:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        build: PipelineFactory,
        embedder: Callable[[str], Embedder],
        language_model: LanguageModelFactory,
        model: Callable[[Settings], ChatModel],
    ) -> None:
        """
        Args:
            settings: as they are now; the provider may change while the App is open.
            build: makes a run's pipeline, as the chat's are made.
            model: the model of the provider of some settings, for answers and judgements.
        """
        self._current = settings
        self._build = build
        self._embedder = embedder
        self._language_model = language_model
        self._model = model
        self._jobs = JobManager(settings().jobs_dir)
        self.data = DatasetService(settings)
        """The data sets that runs can have."""
        self.ragas = RagasService(settings, model, embedder, self._jobs, self._finish)
        """Evaluations of answers, whatever system gave them."""
        self.past = RunArchive(settings, self.data, self._active, self._parts)
        """Runs that are over, or were broken off."""
        self.presets = Presets(settings().presets_path)
        """Of runs."""

    @property
    def settings(self) -> Settings:
        return self._current()

    def plan_run(self, **changes: Any) -> RunPlan:
        """What a benchmark run would do; ``changes`` are settings by name. Runs nothing, writes nothing.

        Raises:
            ConfigurationError, DatasetError, StorageError: as the run would.
        """
        settings = self._of_run(changes)
        return plan_run(
            self.data.find(settings.mteb_dataset_name),
            settings,
            lambda texts: self._cached_vectors(settings, texts),
        )

    def estimate(self, **changes: Any) -> Estimate | None:
        """What a run would ask of models, by the lengths of texts and prompts; asks and writes nothing.

        None for a run that asks no model, and where the data set would have to be downloaded first.

        Raises:
            ConfigurationError, DatasetError, StorageError: as the run would.
        """
        return self.plan_run(**changes).estimate

    def pilot(
        self,
        queries: int,
        progress: ProgressCallback = ignore_progress,
        *,
        budget_usd: float | None = None,
        **changes: Any,
    ) -> Estimate:
        """The same by really doing a few of its queries; replies that may be kept come for nothing in the run itself.

        Leaves no run. Indexes, vectors and the data set's copy stay, as the run would have made them.

        Raises:
            ConfigurationError, DatasetError, StorageError, ProviderError: as the run would.
            PilotFailed: a budget or quota did not suffice, or the provider failed query after query.
            RunStopped
        """
        settings = self._of_run(changes)
        found = self.data.find(settings.mteb_dataset_name)
        with pilot_folder(settings.cache_dir) as folder:
            whole = prepare_run(folder, found.reference, lambda: self.data.load_found(found, progress), settings)
            parts = RunParts(self._build, self._embedder_of, self._models)
            return run_pilot(whole, queries, parts, self._language_model, progress, budget_usd)

    def strategies(self) -> Mapping[str, str]:
        """Name -> what it does, of those that the configured parts can carry out."""
        has_model = self._asked(self.settings) is not None
        return {
            name: strategy.summary
            for name, strategy in STRATEGIES.items()
            if has_model or not strategy.needs_language_model
        }

    def start_run(self, *, budget_usd: float | None = None, **changes: Any) -> str:
        """Check and queue a benchmark run in the background; ``changes`` are settings by name.

        Args:
            budget_usd: what the run may cost; None for no limit.

        Returns:
            The run's id, which is its job's id as well.

        Raises:
            ConfigurationError, DatasetError, StorageError, ProviderNotConfigured: at once, before anything is written
            of the run.
        """
        run = self._prepare(changes)
        self._queue(run.folder.run_id, lambda progress: self._execute(run, progress, budget_usd))
        return run.folder.run_id

    def resume_run(self, run_id: str, *, budget_usd: float | None = None) -> None:
        """Queue an unfinished run again, of whatever kind.

        Raises:
            RunNotFound, RunBusy, RunUnreadable
        """
        self._queue(run_id, lambda progress: self.resume_now(run_id, progress, budget_usd=budget_usd))

    def retry_run(self, run_id: str, *, budget_usd: float | None = None) -> None:
        """Queue the failed queries of a run, finished or not, once more.

        Raises:
            RunNotFound, RunBusy, RunUnreadable
        """
        self._queue(run_id, lambda progress: self.retry_now(run_id, progress, budget_usd=budget_usd))

    def stop_run(self, run_id: str) -> None:
        """Ask a queued or running run to stop; what it has recorded stays."""
        self._jobs.stop(run_id)

    def run_now(
        self, progress: ProgressCallback = ignore_progress, *, budget_usd: float | None = None, **changes: Any
    ) -> RunResult:
        """A benchmark run in this thread; its result."""
        return self._execute(self._prepare(changes, progress), progress, budget_usd)

    def resume_now(
        self, run_id: str, progress: ProgressCallback = ignore_progress, *, budget_usd: float | None = None
    ) -> RunResult:
        """Do what is missing of a run in this thread, of whatever kind; its result."""
        if self._kind(run_id) == RAGAS:
            return self.ragas.resume(run_id, progress, budget_usd=budget_usd)
        return self._execute(self._reopen(run_id, progress), progress, budget_usd)

    def retry_now(
        self, run_id: str, progress: ProgressCallback = ignore_progress, *, budget_usd: float | None = None
    ) -> RunResult:
        """Do the failed queries of a run once more, and what is missing, in this thread; its new result."""
        if self._kind(run_id) == RAGAS:
            return self.ragas.resume(run_id, progress, retry_failed=True, budget_usd=budget_usd)
        return self._execute(self._reopen(run_id, progress, retry_failed=True), progress, budget_usd)

    def evaluate_run(self, run_id: str) -> list[InputRow]:
        """The answers of a finished run as rows for an evaluation.

        Raises:
            RunNotFound, RunUnreadable, NothingToEvaluate
            DatasetError, DatasetChanged: its data set, where the texts are, is not there any more as it was.
        """
        run = self.past.finished(run_id)
        return self.ragas.rows_of_result(run.result, run.dataset)

    def _active(self) -> set[str]:
        return {job.job_id for job in self.jobs() if job.active}

    def jobs(self) -> list[JobStatus]:
        """Background jobs, the newest first."""
        return self._jobs.statuses()

    # --- wiring

    def _cached_vectors(self, settings: Settings, texts: list[str]) -> int:
        model_id = self._embedder(settings.embedding_model_name).model_id
        path = vector_cache_path(settings.cache_dir)
        return VectorCache(path).count(model_id, texts, "passage") if path.is_file() else 0

    def _asked(self, settings: Settings) -> LanguageModel | None:
        return self._language_model(settings, lambda _: None)

    def _prepare(self, changes: Mapping[str, Any], progress: ProgressCallback = ignore_progress) -> PreparedRun:
        settings = self._of_run(changes)
        # A relative folder must be found again by a resume from elsewhere.
        found = self.data.find(settings.mteb_dataset_name)
        return prepare_run(
            settings.results_dir,
            found.reference,
            lambda: self.data.load_found(found, progress),
            settings,
        )

    def _of_run(self, changes: Mapping[str, Any]) -> Settings:
        """The settings of a run, once its models are known to be there."""
        settings = self.settings.with_changes(**changes)
        require_language_model(settings, self._asked(settings))
        if settings.generation_enabled:
            self._models(settings)
        return run_settings(settings, readable_chars)

    def _reopen(
        self, run_id: str, progress: ProgressCallback = ignore_progress, retry_failed: bool = False
    ) -> PreparedRun:
        folder = RunFolder(self.settings.results_dir, run_id)
        return reopen_run(
            folder, lambda reference: self.data.load(reference, progress), self.settings, retry_failed=retry_failed
        )

    def _embedder_of(self, settings: Settings) -> Embedder:
        return self._embedder(settings.embedding_model_name)

    def _models(self, settings: Settings) -> RunModels:
        """
        Raises:
            UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: generator or judge cannot be used.
        """
        judging = settings.of_judge if settings.judge else None
        return RunModels(
            self._model(settings),
            requests_at_once(settings),
            self._model(judging) if judging else None,
            requests_at_once(judging) if judging else 1,
            share_calls=judging is not None and address_of(judging) == address_of(settings),
        )

    def _execute(self, run: PreparedRun, progress: ProgressCallback, budget_usd: float | None) -> RunResult:
        return execute(run, self._parts(), progress, budget_usd)

    def _parts(self) -> RunParts:
        exporters = [write_summary_csv, write_detail_csv]
        return RunParts(self._build, self._embedder_of, self._models, exporters=exporters, finish=self._finish)

    def _finish(self, result: RunResult) -> None:
        append_submission(self.settings.submissions_path, result)

    def _queue(self, run_id: str, work: Callable[[ProgressCallback], object]) -> None:
        manifest = RunFolder(self.settings.results_dir, run_id).manifest()
        self._jobs.submit(run_id, f"{manifest.dataset} · {manifest.strategy}", work)

    def _kind(self, run_id: str) -> str:
        return RunFolder(self.settings.results_dir, run_id).manifest().kind
