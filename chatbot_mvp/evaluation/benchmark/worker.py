"""The work of a run's phases, a shard at a time. Every engine carries it out by the same methods.

A worker gets what it needs in the task and returns what came of it. It writes no records: the process that holds the
run's lock does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from chatbot_mvp.datasets import Query
from chatbot_mvp.embedding.base import Embedder, InputType
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.benchmark import generation, judgement
from chatbot_mvp.evaluation.benchmark.chunk_texts import write_chunk_texts
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.searching import Searched, search
from chatbot_mvp.llm.base import ChatModel, Completion, ignore_reply
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.language_model import needed
from chatbot_mvp.llm.registry import address_of, find_provider, requests_at_once
from chatbot_mvp.llm.wrapped import TellingModel
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.retrieval.indexes.questions import QuestionCounts
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.runs.payloads import GENERATE, JUDGE
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.task_loop import Done, failed_task
from chatbot_mvp.runs.usage import Spent
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback, ignore_progress


def asks_model(settings: Settings) -> bool:
    """Return whether a run sends requests to the language model of its provider."""
    strategy = get_strategy(settings.retrieval_strategy)
    reranks = settings.reranker_kind == "llm"
    searches = strategy.needs_language_model or settings.query_expansion_llm or reranks
    return find_provider(settings.chosen_provider).has_model and (searches or settings.generation_enabled)


@dataclass(frozen=True)
class RunModels:
    """The models that answer and judge in a run."""

    generator: ChatModel
    generator_calls: int
    """Maximum number of concurrent requests, at least 1."""
    judge: ChatModel | None
    """None if answers are not judged."""
    judge_calls: int = 1
    share_calls: bool = False
    """True if generator and judge use the same address and therefore share its limit of concurrent requests."""


def run_models(settings: Settings, providers: ModelSource) -> RunModels:
    """Return the models that a run's settings name, with the maximum number of concurrent requests for each.

    Raises:
        UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: the generator or the judge cannot be used.
    """
    judging = settings.of_judge if settings.judge else None
    return RunModels(
        providers.model(settings),
        requests_at_once(settings),
        providers.model(judging) if judging else None,
        requests_at_once(judging) if judging else 1,
        share_calls=judging is not None and address_of(judging) == address_of(settings),
    )


OnReply = Callable[[Completion], None]
"""Called with every reply of a language model, also when the task fails afterwards."""


@dataclass(frozen=True, slots=True)
class Task:
    """An answer to write, or to judge."""

    phase: str
    """GENERATE or JUDGE."""
    query_id: str
    context: tuple[str, ...]
    """Ids of the passages, best first."""
    response: str = ""
    """The answer to judge; "" in the phase "generate"."""


class RunWorker:
    """Searches, answers and judges for one run. The answers may be worked on in several threads at the same time."""

    def __init__(self, run: PreparedRun, factory: PipelineFactory, models: Callable[[Settings], RunModels]) -> None:
        """
        Args:
            factory: builds the pipeline over the run's documents.
            models: returns the generator and the judge of the run; called when one of them is first needed.
        """
        self.run = run
        self._factory = factory
        self._models = models
        self._pipeline: Pipeline | None = None
        self._on_reply: OnReply = ignore_reply

    @cached_property
    def models(self) -> RunModels:
        """The generator and the judge."""
        return self._models(self.run.settings)

    # --- the phase "retrieve"

    def open(self, progress: ProgressCallback, on_reply: OnReply) -> QuestionCounts | None:
        """Build the pipeline, or load it; return the counts of the questions that a model wrote for the documents."""
        self._pipeline = self.run.corpus.pipeline(self._factory, self.run.settings, progress, on_reply)
        self._on_reply = on_reply
        return self._pipeline.index.questions

    def close(self) -> None:
        """Free the pipeline."""
        self._pipeline = None

    def embedder(self) -> Embedder:
        """Return the embedding model of the run."""
        return self._factory.embedder(self.run.settings)

    def write_texts(self, phase: str, prompts: Sequence[str], on_reply: OnReply) -> None:
        """Ask for contexts or questions of documents and cache them. Does not need ``open``.

        Args:
            phase: of ``missing_chunk_texts``.

        Raises:
            NeedsLanguageModel: the provider has no model.
            ChatbotError, OSError: as ``write_chunk_texts``.
        """
        settings = self.run.settings
        model = self._factory.language_model(settings, on_reply)
        asked = needed(model, settings.retrieval_strategy, settings.chosen_provider)
        write_chunk_texts(phase, asked, prompts, settings, ignore_progress)

    def embed(self, texts: Sequence[str], input_type: InputType) -> None:
        """Put the vectors of some texts into the cache. Does not need ``open``. Raises as ``VectorCache.embed``."""
        cache = VectorCache(vector_cache_path(self.run.settings.cache_dir))
        cache.embed(self.embedder(), texts, input_type)

    def embed_queries(self, query_ids: Sequence[str], progress: ProgressCallback) -> None:
        """Embed many queries into the cache ahead of ``search``, which is faster than a batch at a time."""
        assert self._pipeline is not None
        self._pipeline.embed_queries([self._queries[query_id].text for query_id in query_ids], progress)

    def search(self, query_ids: Sequence[str]) -> Searched:
        """Search some queries. Needs ``open``. Raises as ``searching.search``."""
        assert self._pipeline is not None
        return search(self.run, self._pipeline, [self._queries[query_id] for query_id in query_ids], self._answering)

    def _answering(self) -> ChatModel:
        """Return the model that answers in the chat under the settings of the run."""
        return TellingModel(self._factory.providers.model(self.run.settings), self._on_reply)

    # --- the phases "generate" and "judge"

    def do(self, task: Task, on_reply: OnReply) -> Done:
        """Write or judge an answer.

        Raises:
            ChatbotError: every other task would fail in the same way, for example because of a refused key.
        """
        try:
            return self._generate(task, on_reply) if task.phase == GENERATE else self._judge(task, on_reply)
        except ChatbotError as error:
            return failed_task(self.run.manifest.run_id, task.query_id, task.phase, error)

    def _generate(self, task: Task, on_reply: OnReply) -> Done:
        passages = self.run.corpus.passages(task.context)
        language = self.run.language
        request = generation.generation_request(self._queries[task.query_id], passages, language, self.run.settings)
        completion = TellingModel(self.models.generator, on_reply).complete(request)
        text = generation.tidy_answer(completion.text)
        payload = {
            "response": text,
            "abstained": generation.is_abstention(text, language),
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            "seconds": round(completion.seconds, 4),
            "usage": Spent.of(completion).to_json(),
        }
        return Done(QueryRecord(self.run.manifest.run_id, task.query_id, GENERATE, "ok", payload))

    def _judge(self, task: Task, on_reply: OnReply) -> Done:
        assert self.models.judge is not None
        model = TellingModel(self.models.judge, on_reply)
        question, passages = self._queries[task.query_id].text, self.run.corpus.passages(task.context)
        scores: dict[str, float | None] = {}
        reasons, raw = {}, {}
        completions: list[Completion] = []
        passing = of_provider = False
        for metric in self.run.settings.judge_metric_names:
            found = judgement.judge(model, metric, question, task.response, passages, self.run.language)
            completions += found.completions
            scores[metric], reasons[metric] = found.score, found.reason
            if found.score is None:
                raw[metric] = found.raw
                passing, of_provider = passing or found.passing, of_provider or found.of_provider
        unscored = [metric for metric, score in scores.items() if score is None]
        payload: dict[str, Any] = {"scores": scores, "reasons": reasons, "model": model.name}
        payload["usage"] = Spent.total(Spent.of(completion) for completion in completions).to_json()
        if raw:
            payload["raw"] = raw
        error = f"not scored: {', '.join(unscored)}" if unscored else None
        status: Literal["ok", "failed"] = "failed" if unscored else "ok"
        record = QueryRecord(self.run.manifest.run_id, task.query_id, JUDGE, status, payload, error)
        return Done(record, passing, of_provider)

    @cached_property
    def _queries(self) -> dict[str, Query]:
        return {query.query_id: query for query in self.run.queries}
