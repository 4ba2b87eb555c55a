"""Evaluate knowledge bases, for pages and commands: make question sets and run them, both in the background."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.errors import ChatbotError, KbResultNotFound, RunError
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.kb.jobs import PROPOSE, EvaluationJob, job_of
from chatbot_mvp.evaluation.kb.proposals import kb_of_dataset, make_proposals
from chatbot_mvp.evaluation.kb.question_sets import QuestionSets
from chatbot_mvp.evaluation.kb.results import (
    KbResult,
    ResultRow,
    expected_passages,
    found_passages,
    kb_figures,
    read_kb_result,
)
from chatbot_mvp.evaluation.kb.sets import QuestionSet
from chatbot_mvp.evaluation.kb.strategies import COMPARED, StrategyFigures, strategy_figures
from chatbot_mvp.evaluation.run_service import RunService
from chatbot_mvp.evaluation.run_sources import RunSources, kb_reference
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import sortable_stamp
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.lru import FileCache
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_JOBS_KEPT = 20  # ended jobs whose states stay on disk
_RESULTS_KEPT = 50_000_000
"""Total size in bytes of the result files whose content is cached, because a page reads them each time it is drawn."""


class KbEvaluationService:
    """Evaluates knowledge bases. Safe to share between sessions: holds no state of a single user."""

    def __init__(
        self,
        live: LiveSettings,
        kbs: KnowledgeBases,
        providers: Providers,
        question_sets: QuestionSets,
        runs: RunService,
        archive: RunArchive,
        sources: RunSources,
        jobs: JobManager,
    ) -> None:
        """``jobs`` is the queue of proposals and of runs over knowledge bases."""
        self._live = live
        self._kbs = kbs
        self._sets = question_sets
        self._model = providers.current()
        self._results: FileCache[KbResult] = FileCache(_RESULTS_KEPT)
        self._folder = live.current.kb_evaluation_jobs_dir
        self._runs = runs
        self._archive = archive
        self._sources = sources
        self._jobs = jobs

    # --- proposals

    @performs(Action.READ)
    def proposer(self) -> str:
        """Return the name of the model that would propose questions; "" if there is none and rules are used."""
        return "" if self._model.needs_evidence else self._model.name

    @performs(Action.PROPOSE)
    def propose(self, kb_id: str, name: str, count: int, use_model: bool = True) -> str:
        """Propose a question set in the background and return the job's id. A stop saves the questions found by then.

        Raises:
            KbNotFound, KbUnreadable
        """
        self._kbs.store.record(kb_id)
        with self._one_job(kb_id):
            made = sortable_stamp()
            job_id = f"{made}-{PROPOSE}-{kb_id}"

            def make(progress: ProgressCallback) -> None:
                found, ended_by = self._proposals(kb_id, name, count, use_model, progress)
                self._sets.save(replace(found, set_id=made))
                if ended_by is not None:
                    raise ended_by

            self._jobs.submit(job_id, name, make)
        return job_id

    @performs(Action.PROPOSE)
    def propose_now(
        self, kb_id: str, count: int, use_model: bool = True, progress: ProgressCallback = ignore_progress
    ) -> QuestionSet:
        """Propose a question set in this thread, without saving it.

        Raises:
            KbNotFound, KbUnreadable, KbEvaluationError (nothing_proposed, proposals_unusable)
            ProviderError: an error that would make every request fail, before any question was found.
            RunStopped: only if no question had been found by then.
        """
        found, _ = self._proposals(kb_id, "", count, use_model, progress)
        return found

    # --- runs

    @performs(Action.READ)
    def references(self) -> dict[str, str]:
        """Return reference -> name of the question sets that a run of any configuration can measure, newest first.

        The names are distinct: sets of one knowledge base with the same name are told apart by the end of their ids.
        """
        found = [
            (kb_reference(record.kb_id, one.set_id), f"{record.kb_name} · {one.name}")
            for record in self._kbs.records()
            for one in self._sets.sets(record.kb_id)
            if one.kept
        ]
        counts = Counter(name for _, name in found)
        return {key: name if counts[name] == 1 else f"{name} · {key[-4:]}" for key, name in found}

    def keep_dataset(
        self, reference: str, progress: ProgressCallback = ignore_progress
    ) -> tuple[KbRecord, QuestionSet]:
        """Keep a data set as a knowledge base with a question set, as ``kb_of_dataset`` makes them; save both.

        Raises:
            DatasetError, StorageError: nothing is kept.
            UploadError (upload_empty)
        """
        dataset = self._sources.load(self._sources.find(reference), progress).dataset
        record, questions = kb_of_dataset(self._kbs.store, dataset, self._live.current.kb_max_chars)
        made = self._sets.save(questions)
        before = [one for one in self._sets.sets(record.kb_id) if one.set_id != made.set_id]
        if same := next((one for one in before if one.questions == made.questions), None):
            self._sets.delete_set(record.kb_id, made.set_id)
            return record, same
        return record, made

    @performs(Action.MEASURE)
    def start(self, kb_id: str, set_id: str) -> str:
        """Run a set's kept questions in the background and return the run's id, which is also that of the job.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError (no_questions_kept), RunError (run_busy)
            ConfigurationError: the settings cannot be used.
        """
        with self._one_job(kb_id):
            return self._run(kb_id, set_id)

    @performs(Action.READ)
    def strategies(self, result_id: str) -> StrategyFigures:
        """Return how the strategies compare over the questions that a finished run measured."""
        return strategy_figures(self._archive.runs()[0], result_id)

    @performs(Action.MEASURE)
    def start_strategies(self, kb_id: str, set_id: str, strategies: Sequence[str] = ()) -> list[str]:
        """Run a set's kept questions with each of some strategies, one after the other; return the ids of the runs.

        Args:
            strategies: of ``COMPARED``; none for the one in use, then all others of them.

        Raises:
            as ``start``
        """
        every = dict.fromkeys((self._live.current.retrieval_strategy, *COMPARED))
        with self._one_job(kb_id):
            return [self._run(kb_id, set_id, strategy) for strategy in strategies or every]

    def _run(self, kb_id: str, set_id: str, strategy: str = "") -> str:
        """Queue the run of a set; ``strategy`` is of ``COMPARED``, "" for the settings in effect."""
        changes = {"retrieval_strategy": strategy} if strategy else {}
        asked = {**_as_chat(kb_reference(kb_id, set_id)), **changes}
        run = self._runs.prepare(asked, preset=COMPARED.get(strategy, ""))
        title = " · ".join(part for part in (self._sets.question_set(kb_id, set_id).name, strategy) if part)
        self._jobs.submit(run.folder.run_id, title, lambda progress: self._runs.execute(run, progress))
        return run.folder.run_id

    def evaluate(
        self,
        kb_id: str,
        questions: str | Path,
        progress: ProgressCallback = ignore_progress,
        *,
        preset: str = "",
        **changes: Any,
    ) -> dict[str, Any]:
        """Run questions on a knowledge base in this thread; return ``run_id``, figures, and what the chat said.

        Returns:
            The figures of ``kb_figures``; ``chat``: outcome of ``metrics.decisions`` -> number of questions;
            ``answers``: question id -> ``outcome`` and ``tick`` as in the chat, and the ``verdict``, None if nobody
            says what is right. The chat's model is asked, if it has one.

        Args:
            questions: the id of a question set, or the path of a question file.
            preset, changes: as in ``RunService.start_run``; a preset is also in what is returned.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound, KbEvaluationError (no_questions_kept), DatasetError
            RunStopped: the records stay for a resume.
        """
        if isinstance(questions, str):
            self._sets.question_set(kb_id, questions)
        asked = questions if isinstance(questions, str) else str(questions.resolve())
        run = {**changes, **_as_chat(kb_reference(kb_id, asked))}
        result = self._runs.run_now(progress, preset=preset, **run)
        named = {"preset": result.preset} if result.preset else {}
        rows = read_kb_result(RunFolder(self._live.current.results_dir, result.run_id)).rows
        answers = {
            row.question.question_id: {"outcome": row.said.outcome, "tick": row.said.tick, "verdict": row.outcome}
            for row in rows
            if row.said
        }
        chat = dict(Counter(row.outcome for row in rows if row.outcome))
        return {"run_id": result.run_id, **named, **kb_figures(result), "chat": chat, "answers": answers}

    @performs(Action.READ)
    def results(self, kb_id: str) -> list[KbResult]:
        """Return the finished runs of a knowledge base, newest first. Unreadable ones are left out."""
        found = []
        for line in self._archive.runs()[0]:
            if line.kind == KB and line.dataset.startswith(f"{kb_id}/"):
                with suppress(KbResultNotFound):
                    found.append(self.result(kb_id, line.run_id))
        return found

    def result(self, kb_id: str, result_id: str) -> KbResult:
        """Return a finished run as a result.

        Raises:
            KbResultNotFound: there is no such finished run over this knowledge base, or a file is unreadable.
        """
        folder = RunFolder(self._live.current.results_dir, result_id)
        try:
            found = self._results.get(folder.result_path, lambda: read_kb_result(folder))
        except (ChatbotError, OSError, KeyError, ValueError, TypeError) as error:
            raise KbResultNotFound(kb_id=kb_id, result_id=result_id) from error
        if found.kb_id != kb_id:
            raise KbResultNotFound(kb_id=kb_id, result_id=result_id)
        return found

    @performs(Action.READ)
    def found(self, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
        """Return the passages found for a question. Raises as ``found_passages``."""
        return found_passages(self._kbs.store, result, row)

    @performs(Action.READ)
    def expected(self, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
        """Return the passage that a question expects. Raises as ``expected_passages``."""
        return expected_passages(self._kbs.store, result, row)

    # --- jobs

    @performs(Action.READ)
    def jobs(self, kb_id: str) -> list[EvaluationJob]:
        """Return the jobs of a knowledge base, latest first, including those from before a restart."""
        results = self._live.current.results_dir
        found = [job_of(status, results) for status in self._jobs.statuses()]
        own = [job for job in found if job is not None and job.kb_id == kb_id]
        return sorted(own, key=lambda job: (job.status.active, job.status.updated_at), reverse=True)

    @performs(Action.MEASURE)
    def stop(self, job_id: str) -> None:
        """Ask a job to stop at the next point where it can stop safely."""
        self._jobs.stop(job_id)

    @performs(Action.MEASURE)
    def forget(self, job_id: str) -> None:
        """Remove how a job ended. What it saved stays."""
        self._jobs.forget(job_id)

    # --- the work itself

    def _proposals(
        self, kb_id: str, name: str, count: int, use_model: bool, progress: ProgressCallback
    ) -> tuple[QuestionSet, ChatbotError | None]:
        chosen = self._model if use_model and not self._model.needs_evidence else None
        began = self._live.current.provider

        def told(state: Progress) -> None:
            now = self._live.current.provider
            progress(state if chosen is None or now == began else replace(state, provider=now))

        return make_proposals(self._kbs, kb_id, name, count, chosen, told)

    @contextmanager
    def _one_job(self, kb_id: str) -> Iterator[None]:
        """Hold the right to submit a job of a knowledge base.

        Raises:
            RunError (run_busy): a job of this knowledge base is active.
        """
        make_folder(self._folder)
        # Checking for an active job and queueing must be one step, also across processes.
        with FileLock(self._folder / ".submit.lock"):
            active = next((job for job in self.jobs(kb_id) if job.status.active), None)
            if active is not None:
                raise RunError("run_busy", run_id=active.status.job_id)
            self._prune()
            yield

    def _prune(self) -> None:
        old = sorted((status for status in self._jobs.statuses() if not status.active), key=lambda s: s.updated_at)
        for status in old[: -_JOBS_KEPT or None]:
            for path in self._folder.glob(f"{status.job_id}.*"):
                path.unlink(missing_ok=True)


def _as_chat(reference: str) -> dict[str, Any]:
    """Return the settings of a run that measures the chat's retrieval on all questions."""
    return {"mteb_dataset_name": reference, "eval_max_queries": 0, "dev_mode": False, "generation_enabled": False}
