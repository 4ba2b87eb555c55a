"""Models of a piece of work that ends when its provider is left: once another one is chosen, no request is sent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from chatbot_mvp.errors import ChatbotError, RequestStopped
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest, ChatStream, Completion, Message, ignore_reply
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.registry import PROVIDERS, find_provider
from chatbot_mvp.llm.wrapped import WrappedModel, WrappedStream
from chatbot_mvp.remote.stop import StopWhen
from chatbot_mvp.settings.model import Settings

Left = Callable[[str], ChatbotError]
"""Name of the provider that is chosen now -> the error for the work of the one that was left."""


class ModelSource(ABC):
    """Gives the models that settings name."""

    @property
    @abstractmethod
    def chosen(self) -> str:
        """Name of the provider that is chosen at this moment."""

    @abstractmethod
    def model(self, settings: Settings) -> ChatModel:
        """The model of ``settings``' provider.

        Raises:
            UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting
        """

    def language_model(
        self, settings: Settings, on_reply: Callable[[Completion], None] = ignore_reply
    ) -> LanguageModel | None:
        """The language model that retrieval may use; None if the provider has no model or is not configured.

        ``on_reply`` is called with every reply.
        """
        provider = PROVIDERS.get(settings.chosen_provider)
        if provider is None or not provider.has_model or provider.missing(settings):
            return None
        options = ChatOptions(max_tokens=settings.llm_max_tokens)

        def ask(prompt: str) -> str:
            completion = self.model(settings).complete(ChatRequest((Message("user", prompt),), options))
            on_reply(completion)
            return completion.text

        return LanguageModel(settings.language_model, ask)

    def while_chosen(self, provider: str, left: Left) -> ModelSource:
        """The same models for work on behalf of the chosen provider.

        Args:
            provider: the chosen one when the work began. Once another is chosen, each further request to this one
                raises an error instead of being sent, and also each repetition of a request that failed.
            left: makes that error.
        """
        return _WhileChosen(self, provider, left)


class _WhileChosen(ModelSource):
    def __init__(self, source: ModelSource, provider: str, left: Left) -> None:
        self._source = source
        self._provider = provider
        self._left = left

    @property
    def chosen(self) -> str:
        return self._source.chosen

    def model(self, settings: Settings) -> ChatModel:
        model = self._source.model(settings)
        # Another provider was named for this work alone, for example as a judge; one without a model sends nothing.
        if settings.chosen_provider != self._provider or not find_provider(self._provider).has_model:
            return model
        return ModelWhileChosen(model, self._why_not)

    def _why_not(self) -> ChatbotError | None:
        now = self.chosen
        return None if now == self._provider else self._left(now)


class ModelWhileChosen(WrappedModel):
    """Raises an error in place of each request that would be sent after its provider was left."""

    def __init__(self, model: ChatModel, why_not: Callable[[], ChatbotError | None]) -> None:
        """
        Args:
            why_not: returns the error once the provider was left, until then None.
        """
        super().__init__(model)
        self._why_not = why_not

    def complete(self, request: ChatRequest) -> Completion:
        with self._noticing(request) as sent:
            return super().complete(sent)

    def stream(self, request: ChatRequest) -> ChatStream:
        with self._noticing(request) as sent:
            return _StreamWhileChosen(super().stream(sent), lambda: self._noticing(request))

    @contextmanager
    def _noticing(self, request: ChatRequest) -> Iterator[ChatRequest]:
        """Yield the request that ends by itself when the provider is left, and raise the error for that."""
        if (error := self._why_not()) is not None:
            raise error
        try:
            yield replace(request, stop=StopWhen(request.stop, lambda: self._why_not() is not None))
        except RequestStopped as stopped:
            if request.stop.is_set or (error := self._why_not()) is None:
                raise
            raise error from stopped


class _StreamWhileChosen(WrappedStream):
    def __init__(self, stream: ChatStream, noticing: Callable[[], AbstractContextManager[object]]) -> None:
        super().__init__(stream)
        self._noticing = noticing

    def __iter__(self) -> Iterator[str]:
        with self._noticing():
            yield from self._stream
