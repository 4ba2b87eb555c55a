"""Wrappers around a ``ChatModel``."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion


class WrappedModel:
    """Forwards every call to the wrapped model. Base class for wrappers that change one call."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def needs_evidence(self) -> bool:
        return self._model.needs_evidence

    def complete(self, request: ChatRequest) -> Completion:
        return self._model.complete(request)

    def stream(self, request: ChatRequest) -> ChatStream:
        return self._model.stream(request)


class TellingModel(WrappedModel):
    """Calls a function with every reply. Does not stream, because a stream closed early has no complete reply."""

    def __init__(self, model: ChatModel, seen: Callable[[Completion], None]) -> None:
        super().__init__(model)
        self._seen = seen

    def complete(self, request: ChatRequest) -> Completion:
        completion = super().complete(request)
        self._seen(completion)
        return completion

    def stream(self, request: ChatRequest) -> ChatStream:
        raise TypeError("TellingModel does not stream: call complete")
