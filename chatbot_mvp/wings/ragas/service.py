"""Evaluate answers from a file, a benchmark run or chats, at once or in the background, for pages and commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.chat.conversation import Conversation
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.llm.providers import following
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import ProgressCallback, ignore_progress
from chatbot_mvp.wings.ragas.config import RagasConfig
from chatbot_mvp.wings.ragas.errors import NothingToEvaluate
from chatbot_mvp.wings.ragas.judging import JUDGED, UNJUDGED, prompt_languages
from chatbot_mvp.wings.ragas.kind import phases_of
from chatbot_mvp.wings.ragas.langchain import as_chat_model, as_embedder
from chatbot_mvp.wings.ragas.making_prompts import PromptMaker
from chatbot_mvp.wings.ragas.preparation import (
    INPUT,
    NOTHING_HANDED,
    STRATEGY,
    Evaluation,
    Handed,
    can_judge,
    judge_settings,
    judges_of,
    prepare_evaluation,
    reopen_evaluation,
)
from chatbot_mvp.wings.ragas.reading_apart import rows_of_content
from chatbot_mvp.wings.ragas.rows import InputRow, read_rows, rows_from
from chatbot_mvp.wings.ragas.runner import execute

_DEFAULTS = RagasConfig()


class RagasService:
    """Starts, resumes and reads evaluations of answers. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, archive: RunArchive, parts: RunParts, jobs: JobManager) -> None:
        """
        Args:
            archive: finished runs, whose answers can be evaluated.
            parts: components of benchmark runs, of which evaluations use embedders and providers.
            jobs: the job queue, shared with benchmark runs because only one run works at a time.
        """
        self._live = live
        self._archive = archive
        self._parts = parts
        self._jobs = jobs
        self.prompts = PromptMaker(live, parts.providers)

    @classmethod
    def of(cls, app: App) -> RagasService:
        """As in ``Service``."""
        return cls(app.live, app.archive, app.run_parts, app.run_jobs)

    @performs(Action.READ)
    def judge(self, config: RagasConfig = _DEFAULTS) -> str:
        """Return the provider and model that would judge; "" if there is no judge.

        Raises:
            InvalidSetting
        """
        settings = judge_settings(self._live.current, config)
        return "" if settings.chosen_provider == "demo" else settings.language_model

    def sample_path(self) -> Path:
        """Return the path of the bundled sample: Spanish rows with human labels."""
        return self._live.current.samples_dir / "judge_es.jsonl"

    def run_now(
        self,
        name: str,
        rows: Sequence[InputRow],
        config: RagasConfig = _DEFAULTS,
        progress: ProgressCallback = ignore_progress,
        *,
        budget_usd: float | None = None,
        judge: Any = None,
        embedder: Any = None,
    ) -> RunResult:
        """Evaluate rows in the calling thread and return the result.

        Args:
            name: name of the data set in lists.
            judge: a model to use in place of the configured one: a ``ChatModel``, a LangChain model, or ragas'
                ``LangchainLLMWrapper``.
            embedder: likewise: an ``Embedder``, LangChain embeddings, or ragas' ``LangchainEmbeddingsWrapper``.

        Raises:
            UnknownChoice, PromptsError, InvalidSetting, ProviderNotConfigured: raised before the first request.
            PromptsError (prompts_not_made, prompts_not_written): the prompts of a new language could not be made.
            TypeError: ``judge`` or ``embedder`` is nothing that can be used as such.
        """
        handed = _handed(judge, embedder)
        return self._execute(self._prepare(name, rows, config, handed), progress, budget_usd, handed)

    @performs(Action.MEASURE)
    def start(
        self,
        name: str,
        rows: Sequence[InputRow],
        config: RagasConfig = _DEFAULTS,
        *,
        budget_usd: float | None = None,
    ) -> str:
        """Queue an evaluation in the background and return the run's id. Raises the same errors as ``run_now``."""
        evaluation = self._prepare(name, rows, config)
        run_id = evaluation.folder.run_id
        self._jobs.submit(
            run_id, f"{name} · {STRATEGY}", lambda progress: self._execute(evaluation, progress, budget_usd)
        )
        return run_id

    def resume(
        self,
        run_id: str,
        progress: ProgressCallback = ignore_progress,
        *,
        retry_failed: bool = False,
        budget_usd: float | None = None,
        judge: Any = None,
        embedder: Any = None,
    ) -> RunResult:
        """Compute missing or failed scores in the calling thread and return the result.

        Args:
            judge, embedder: the models that ``run_now`` was given, if it was given any.

        Raises:
            RunError (run_already_finished, nothing_to_retry, run_mismatch)
        """
        handed = _handed(judge, embedder)
        folder = RunFolder(self._live.current.results_dir, run_id)
        evaluation = reopen_evaluation(folder, self._live.current, retry_failed=retry_failed, handed=handed)
        return self._execute(self._following(evaluation), progress, budget_usd, handed)

    @performs(Action.READ)
    def languages(self) -> list[str]:
        """Return the languages for which there are prompts."""
        return prompt_languages()

    @performs(Action.READ)
    def metrics(self) -> tuple[str, ...]:
        """Return the available metrics. Without a judge, these are the metrics that need none.

        Raises:
            InvalidSetting
        """
        return (*JUDGED, *UNJUDGED) if self.judge() else UNJUDGED

    @performs(Action.READ)
    def rows_of_run(self, run_id: str) -> dict[str, InputRow]:
        """Return row id -> input row of an evaluation.

        Raises:
            DatasetError: the run's copy of the rows is missing or damaged.
        """
        rows = read_rows(RunFolder(self._live.current.results_dir, run_id).path / INPUT)
        return {row.row_id: row for row in rows}

    def rows_of_file(self, path: Path) -> list[InputRow]:
        """Read the rows of a file.

        Raises:
            DatasetError
        """
        return read_rows(path)

    @performs(Action.READ)
    def rows_of_upload(self, name: str, content: bytes) -> list[InputRow]:
        """Read the rows of an uploaded file apart. The extension of ``name`` determines the format.

        Raises:
            DatasetError: also if the file needs too much time or memory.
        """
        return rows_of_content(name, content)

    @performs(Action.READ)
    def evaluate_run(self, run_id: str) -> list[InputRow]:
        """Return the answered queries of a finished run with the passages given to the generator, as rows to score.

        Raises:
            RunNotFound, RunUnreadable
            NothingToEvaluate: the run has no answers.
            DatasetError (dataset_changed): the data set, which holds the texts, is missing or has changed.
        """
        run = self._archive.finished(run_id)
        result, dataset = run.result, run.dataset
        given = []
        for row in result.per_query:
            if row.response is None:
                continue
            ids = list(row.retrieved if row.generation_doc_ids is None else row.generation_doc_ids)
            chunks = [passage_chunk(found) for doc_id in ids if (found := dataset.document(doc_id)) is not None]
            columns: dict[str, Any] = {
                "id": row.query_id,
                "user_input": row.question,
                "response": row.response,
                "retrieved_contexts": [chunk.index_text for chunk in chunks],
                "retrieved_context_ids": ids,
                "reference_context_ids": list(row.gold),
            }
            if row.answer:
                columns["reference"] = row.answer
            given.append(columns)
        if not given:
            raise NothingToEvaluate(source=result.run_id)
        return rows_from(given, result.run_id)

    @performs(Action.READ)
    def rows_of_conversations(self, conversations: Iterable[Conversation]) -> list[InputRow]:
        """Return the chat questions that were answered from a knowledge base, with the cited passages.

        Raises:
            NothingToEvaluate: there is no such question.
        """
        given = [
            {
                "id": f"{conversation.conversation_id}-{turn.turn_id}",
                "user_input": turn.question,
                "response": turn.answer.text,
                "retrieved_contexts": [source.chunk.index_text for source in turn.answer.sources],
            }
            for conversation in conversations
            for turn in conversation.turns
            if turn.answer is not None and turn.answer.from_kb
        ]
        if not given:
            raise NothingToEvaluate(source="chat")
        return rows_from(given, "chat")

    def _prepare(
        self, name: str, rows: Sequence[InputRow], config: RagasConfig, handed: Handed = NOTHING_HANDED
    ) -> Evaluation:
        settings = judge_settings(self._live.current, config)
        # Raise an error for an unusable judge before the run's folder is created.
        providers = self._parts.providers
        judge = handed.judge or following(providers, providers.chosen).model(settings)
        config = self.prompts.with_prompts(config, rows, judge if can_judge(settings, handed) else None)
        return self._following(prepare_evaluation(settings.results_dir, name, rows, config, settings, handed))

    def _following(self, evaluation: Evaluation) -> Evaluation:
        """Mark an evaluation whose judge is of the chosen provider. One that is not was named for it, and is kept."""
        return replace(evaluation, follows_choice=evaluation.settings.chosen_provider == self._parts.providers.chosen)

    def _execute(
        self,
        evaluation: Evaluation,
        progress: ProgressCallback,
        budget_usd: float | None,
        handed: Handed = NOTHING_HANDED,
    ) -> RunResult:
        parts = self._parts
        if evaluation.follows_choice:
            parts = parts.while_chosen(evaluation.folder.run_id, evaluation.settings.chosen_provider)
        judges = judges_of(evaluation, parts.providers, parts.embedders, handed)
        return execute(evaluation, judges, progress, parts.finish, budget_usd)


def _handed(judge: Any, embedder: Any) -> Handed:
    return Handed(
        as_chat_model(judge) if judge is not None else None, as_embedder(embedder) if embedder is not None else None
    )


def resume(
    app: App, run_id: str, progress: ProgressCallback, retry_failed: bool, budget_usd: float | None
) -> RunResult:
    """Carry out what is missing of an evaluation (``RunKind.resume``)."""
    service = app.get(RagasService)
    return service.resume(run_id, progress, retry_failed=retry_failed, budget_usd=budget_usd)


def so_far(folder: RunFolder, manifest: RunManifest) -> dict[str, tuple[float | None, int, int]]:
    """Return metric -> (mean of the scores so far, their number, expected number) (``RunKind.so_far``)."""
    config = manifest.evaluation["config"]
    phases, _ = folder.all_records()
    found: dict[str, tuple[float | None, int, int]] = {}
    for metric in config["metrics"]:
        records = [
            record for phase in phases_of([metric], config["repeats"]) for record in phases.get(phase, {}).values()
        ]
        values = [value for record in records if (value := record.payload.get("value")) is not None]
        found[metric] = (fmean(values) if values else None, len(values), manifest.queries * config["repeats"])
    return found
