"""Builds pipelines: the one place where a chat and a benchmark run get theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.llm.base import Completion, ignore_reply
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.shared_work import SharedWork
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress


class PipelineFactory:
    """Builds pipelines with the configured models. Safe to share between threads."""

    def __init__(self, embedders: Embedders, providers: ModelSource, shared: SharedWork | None = None) -> None:
        """
        Args:
            shared: indexes and results that the pipelines have in common; None if each has its own.
        """
        self._embedders = embedders
        self._providers = providers
        self._shared = shared

    def asking(self, providers: ModelSource) -> PipelineFactory:
        """Return a factory whose pipelines ask the models of ``providers``; all else is the same."""
        return PipelineFactory(self._embedders, providers, self._shared)

    @property
    def providers(self) -> ModelSource:
        """Give the language models."""
        return self._providers

    def embedder(self, settings: Settings) -> Embedder:
        """Return the embedding model of ``settings``, which is loaded once. Raises as ``create_embedder``."""
        return self._embedders.of(settings)

    def language_model(self, settings: Settings, on_reply: Callable[[Completion], None]) -> LanguageModel | None:
        """Return the provider's model; None if it has none. ``on_reply`` is called with every reply."""
        return self._providers.language_model(settings, on_reply)

    def grow(
        self,
        chunks: Sequence[Chunk],
        language: str,
        settings: Settings,
        progress: ProgressCallback = ignore_progress,
        *,
        kb_id: str = "",
        on_reply: Callable[[Completion], None] = ignore_reply,
        earlier: Pipeline | None = None,
    ) -> Iterator[Pipeline]:
        """Yield pipelines over some chunks that get better while their indexes are built; the last is complete.

        Args:
            on_reply: called with every reply of a language model, while the pipeline is built and while it is used. The
                other arguments are those of ``growing_pipeline``.

        Raises:
            UnknownChoice, NeedsLanguageModel, MissingPackage, InvalidSetting, ProviderNotConfigured,
            ConfigurationError (vector_store_unavailable): as ``growing_pipeline``.
        """
        return growing_pipeline(
            chunks,
            language,
            settings,
            lambda: self.embedder(settings),
            progress,
            kb_id=kb_id,
            language_model=self.language_model(settings, on_reply),
            shared=self._shared,
            earlier=earlier,
        )
