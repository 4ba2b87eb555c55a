"""``build_app(settings) -> App``: the one place where implementations are chosen, and all that a page may call."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.answering import AnswerStream, ChatService
from chatbot_mvp.chat.context import Retrieval, UserContext, other_search, with_search
from chatbot_mvp.chat.metrics_log import MetricsLog
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.sessions import ChatDesk
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.detail import RunDetails
from chatbot_mvp.evaluation.kb.questions import evaluate_kb, load_questions
from chatbot_mvp.evaluation.kb.service import KbEvaluationDesk
from chatbot_mvp.evaluation.service import Bench, LanguageModelFactory
from chatbot_mvp.health import HealthDesk, Probe
from chatbot_mvp.knowledge_base.pipelines import PipelinePool
from chatbot_mvp.knowledge_base.service import Library
from chatbot_mvp.knowledge_base.store import KbRecord, KbStore
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.retrieval.indexes.chroma import chroma_client, delete_collections
from chatbot_mvp.retrieval.indexes.corpus import forget_index
from chatbot_mvp.retrieval.pipeline import Pipeline, build_pipeline
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.access import AdminAccess
from chatbot_mvp.settings.live import SettingsDesk
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, Document, ProgressCallback, ignore_progress

__all__ = ["App", "Check", "build_app"]

_PIPELINES_KEPT = 32  # knowledge bases whose indexes stay in memory


@dataclass(frozen=True)
class Check:
    """One thing that is configured, and whether it answers."""

    name: str
    """"provider", "embedder", "data" or, where it is configured, "storage"."""
    ok: bool
    detail: str


class App:
    """Everything a page or a command can do. Safe to share between sessions; holds nothing of one user."""

    def __init__(
        self,
        settings: Settings,
        embedder: Callable[[str], Embedder],
        chat_model: Callable[[], ChatModel],
        language_model: LanguageModelFactory = lambda settings, seen: None,
        providers: Providers | None = None,
    ) -> None:
        """
        Args:
            embedder: makes the model of a name, once per name.
            chat_model: makes the provider's model.
            language_model: what enrichment and reranking may ask under some settings; None for a provider without.
                It tells of every reply.
            providers: those of the settings by default.
        """
        self.configuration = SettingsDesk(settings)
        """The settings in effect, and changing them."""
        self.providers = providers or Providers(settings)
        """What is configured, chosen and reachable; choosing and trying."""
        if self.configuration.current is not settings:
            self.providers.take(self.configuration.current)
        self.configuration.on_change(self._use_settings)
        self.access = AdminAccess(settings)
        """Who may use Admin."""
        self._language_model = language_model
        self._embedder = cache(embedder)
        self._make_chat_model = chat_model
        self._demo = DemoModel()
        self._kbs = KbStore(settings.kb_dir)
        self._pipelines = PipelinePool(_PIPELINES_KEPT)
        self._version = 0
        """Of the settings: a pipeline that is being made under others is not taken for one of these."""
        self._metrics = MetricsLog(settings.metrics_log_path, settings.log_queries)
        self.bench = Bench(
            lambda: self.settings, self._build_for_run, self._embedder, language_model, self.providers.model
        )
        """Data sets, runs and their results."""
        self.details = RunDetails(
            lambda: self.settings,
            lambda: language_model(self.settings, _unseen) is not None,
            lambda run_id: self.bench.past.run(run_id),
        )
        """Finished runs in full, compared, and what the chat can take over of them."""
        self.library = Library(
            lambda: self.settings, self._kbs, self.kb_pipeline, self._forget_kb_index, self.delete_kb
        )
        """Knowledge bases: files taken in the background, what a KB holds, names, new indexes, suggested questions."""
        self.kb_evaluation = KbEvaluationDesk(
            lambda: self.settings, self._kbs, self.kb_pipeline, lambda: self._chat_model
        )
        """Questions of a knowledge base: proposed, reviewed, asked, and strict mode's threshold over the scores."""
        self.health = HealthDesk(self._parts)
        """Whether provider, embedder and storage answer, without waiting for them."""

    @property
    def settings(self) -> Settings:
        """The settings, with the provider that is in use."""
        return self.providers.settings

    @cached_property
    def _chat_model(self) -> ChatModel:
        return self._make_chat_model()

    @property
    def _chat(self) -> ChatService:
        # Made anew, which costs nothing: the settings may have changed.
        return ChatService(self._chat_model, self.settings, self._demo)

    def _use_settings(self, settings: Settings) -> None:
        """From the next question and the next run on."""
        self.providers.take(settings)
        # Their indexes stay on disk; what is under way goes on with the one that it has.
        self._version += 1
        self._pipelines.clear()

    @cached_property
    def desk(self) -> ChatDesk:
        """Conversations: asking in the background, history, feedback, export."""
        return ChatDesk(self.settings.conversations_dir, self.settings.kb_dir, self.ask_stream)

    def chat_defaults(self, kb_id: str, retrieval: Retrieval = ()) -> UserContext:
        """The knobs of a question to this knowledge base as the settings have them, or as ``retrieval`` would.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        return UserContext.defaults(with_search(self.settings, retrieval), self._kbs.record(kb_id).chars)

    # --- knowledge bases and chat

    def add_kb(self, name: str, content: bytes) -> KbRecord:
        """Keep an uploaded file as a knowledge base.

        Raises:
            UploadError: the file cannot be used; nothing else changes.
        """
        limits = self.settings
        return self._kbs.add(name, content, limits.kb_max_chars, limits.kb_max_upload_mb, limits.kb_max_pages)

    def add_sample_kb(self) -> KbRecord:
        """Keep the sample that comes with the project."""
        path = next((self.settings.samples_dir / "kb").glob("*.md"))
        return self.add_kb(path.name, path.read_bytes())

    def kbs(self) -> list[KbRecord]:
        """The stored knowledge bases, the newest first."""
        return self._kbs.records()

    def delete_kb(self, kb_id: str) -> None:
        """Delete a knowledge base and its vectors.

        Raises:
            KbNotFound
            VectorStoreUnavailable: nothing was deleted.
        """
        self._kbs.record(kb_id)
        self._drop_vectors(kb_id)
        self._kbs.delete(kb_id)

    def suggested_questions(self, kb_id: str) -> tuple[str, ...]:
        """Up to four questions that the knowledge base should answer, from its headings and definitions.

        Raises:
            KbNotFound, KbUnreadable
        """
        return self.library.suggested_questions(kb_id)

    def kb_document(self, kb_id: str) -> Document:
        """The text that offsets of sources refer to.

        Raises:
            KbNotFound, KbUnreadable
        """
        return self._kbs.document(kb_id)

    def kb_chunks(self, kb_id: str) -> list[Chunk]:
        """
        Raises:
            KbNotFound, KbUnreadable
        """
        return chunk_document(self._kbs.document(kb_id))

    def kb_pipeline(
        self, kb_id: str, progress: ProgressCallback = ignore_progress, retrieval: Retrieval = ()
    ) -> Pipeline:
        """The pipeline over a knowledge base; the first call builds its indexes.

        Args:
            retrieval: another search than the settings', as in ``UserContext``; it has a pipeline of its own.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
            NeedsLanguageModel, MissingPackage, ProviderNotConfigured: what ``retrieval`` asks for is not there.
        """
        record = self._kbs.record(kb_id)
        search = other_search(self.settings, retrieval)
        settings = with_search(self.settings, search)
        return self._pipelines.get(
            (kb_id, record.sha256, str(self._version), repr(search)),
            lambda: self._build(self.kb_chunks(kb_id), record.language, settings, progress, kb_id),
        )

    def ask(
        self, kb_id: str, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> Answer:
        """Answer a question from a knowledge base; ``history`` is the conversation so far, oldest first.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        answer = self._chat.ask(self._asked_pipeline(kb_id, context), question, context, history)
        self._metrics.append(kb_id, question, answer, self._chat.model_name)
        return answer

    def ask_stream(
        self, kb_id: str, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> AnswerStream:
        """As ``ask``, told as it happens.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        return self._chat.ask_stream(
            self._asked_pipeline(kb_id, context),
            question,
            context,
            history,
            done=lambda answer: self._metrics.append(kb_id, question, answer, self._chat.model_name),
        )

    def evaluate_kb(self, kb_id: str, questions: Path, progress: ProgressCallback = ignore_progress) -> dict[str, Any]:
        """Measure the chat over a knowledge base on a question file; the figures of ``evaluate_kb``.

        Raises:
            KbNotFound, KbUnreadable, DatasetError
        """
        loaded = load_questions(questions)
        pipeline = self.kb_pipeline(kb_id, progress)
        document = self._kbs.document(kb_id)
        return evaluate_kb(pipeline, document, loaded, self.settings.kb_min_evidence, progress)

    def check(self) -> list[Check]:
        """Try each configured part once; the first call loads the embedding model."""
        return [
            _check("provider", self._try_provider),
            _check("embedder", self._try_embedder),
            _check("data", self._try_data_dir),
            *([_check("storage", self.bench.data.try_storage)] if self.bench.data.uses_storage else []),
        ]

    # --- wiring

    def _asked_pipeline(self, kb_id: str, context: UserContext | None) -> Pipeline:
        return self.kb_pipeline(kb_id, retrieval=context.retrieval if context else ())

    def _try_provider(self) -> str:
        self.providers.require_chosen()
        return self._chat.model_name

    def _try_embedder(self) -> str:
        return f"{self.settings.embedding_model_name} ({1_000 * self._time_embedder():.0f} ms)"

    def _parts(self) -> list[Probe]:
        parts = [
            Probe("provider", self.settings.language_model, self._ask_provider),
            Probe("embedder", self.settings.embedding_model_name, self._time_embedder),
        ]
        if self.bench.data.uses_storage:
            parts.append(Probe("storage", self.settings.minio_bucket_name, self._ask_storage))
        return parts

    def _ask_provider(self) -> float | None:
        self.providers.require_chosen()
        if not self.settings.model_of(self.settings.provider):
            return None
        check = self.providers.check(self.settings.provider)
        if check.error is not None:
            raise check.error
        return check.seconds

    def _time_embedder(self) -> float:
        embedder = self._embedder(self.settings.embedding_model_name)
        started = time.perf_counter()
        embedder.embed(["?"], "query")
        return time.perf_counter() - started

    def _ask_storage(self) -> None:
        self.bench.data.try_storage()

    def _try_data_dir(self) -> str:
        self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.settings.data_dir):
            return str(self.settings.data_dir)

    def _drop_vectors(self, kb_id: str) -> None:
        """
        Raises:
            VectorStoreUnavailable
        """
        if self.settings.chroma_host or self.settings.chroma_dir.is_dir():
            delete_collections(chroma_client(self.settings.chroma_dir, self.settings.chroma_host), kb_id)
        # The same document added again is the same KB: it must not meet a pipeline whose vectors are gone.
        self._pipelines.drop(kb_id)

    def _forget_kb_index(self, kb_id: str) -> None:
        """Forget all that was built over a knowledge base, in memory and on disk.

        Raises:
            KbNotFound, KbUnreadable, VectorStoreUnavailable
        """
        settings = self.settings
        chunks, record = self.kb_chunks(kb_id), self._kbs.record(kb_id)
        self._drop_vectors(kb_id)
        with_vectors = get_strategy(settings.retrieval_strategy).needs_vectors
        embedder = self._embedder(settings.embedding_model_name) if with_vectors else None
        forget_index(chunks, record.language, settings.cache_dir, embedder)

    def _build_for_run(
        self,
        chunks: Sequence[Chunk],
        language: str,
        settings: Settings,
        progress: ProgressCallback,
        seen: Callable[[Completion], None],
    ) -> Pipeline:
        return self._build(chunks, language, settings, progress, seen=seen)

    def _build(
        self,
        chunks: Sequence[Chunk],
        language: str,
        settings: Settings,
        progress: ProgressCallback,
        kb_id: str = "",
        seen: Callable[[Completion], None] = lambda _: None,
    ) -> Pipeline:
        return build_pipeline(
            chunks,
            language,
            settings,
            lambda: self._embedder(settings.embedding_model_name),
            progress,
            kb_id=kb_id,
            language_model=self._language_model(settings, seen),
        )


def _unseen(_: Completion) -> None:
    """Nobody counts it."""


def _check(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, attempt())
    except (ChatbotError, OSError) as error:
        return Check(name, False, str(error))


def build_app(settings: Settings) -> App:
    """The App with the implementations that ``settings`` name. Models are loaded when they are first used."""
    providers = Providers(settings)
    return App(
        settings,
        lambda name: create_embedder(name, settings),
        providers.current,
        providers.language_model,
        providers,
    )
