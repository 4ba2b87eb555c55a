"""A ``ChatModel`` around another one."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion


class WrappedModel:
    """Passes everything on; for subclasses that change one thing."""

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
    """Tells of each of its replies. Does not stream: one that is left early would have to be counted by its end."""

    def __init__(self, model: ChatModel, seen: Callable[[Completion], None]) -> None:
        super().__init__(model)
        self._seen = seen

    def complete(self, request: ChatRequest) -> Completion:
        completion = super().complete(request)
        self._seen(completion)
        return completion

    def stream(self, request: ChatRequest) -> ChatStream:
        raise TypeError("a model that tells of its replies answers at once: call complete")
