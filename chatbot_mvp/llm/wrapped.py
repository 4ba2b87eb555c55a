"""Wrappers around a ``ChatModel`` and its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chatbot_mvp.errors import RequestStopped
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion
from chatbot_mvp.remote.stop import Stop


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


class WrappedStream:
    """Forwards to the wrapped stream. Base class for streams that change how its pieces come."""

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)

    @property
    def completion(self) -> Completion:
        return self._stream.completion

    def close(self) -> None:
        self._stream.close()


class StoppableModel(WrappedModel):
    """Ends all its requests, also those of an answer's preparation, when ``stop`` is set. Then sends no more."""

    def __init__(self, model: ChatModel, stop: Stop) -> None:
        super().__init__(model)
        self._stop = stop

    def complete(self, request: ChatRequest) -> Completion:
        return super().complete(self._stoppable(request))

    def stream(self, request: ChatRequest) -> ChatStream:
        return super().stream(self._stoppable(request))

    def _stoppable(self, request: ChatRequest) -> ChatRequest:
        if self._stop.is_set:
            raise RequestStopped(provider=self.name)
        return replace(request, stop=self._stop)


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
