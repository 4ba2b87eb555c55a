"""A ChatModel over an adapter. Retries, limits, timing and cost work the same for every provider."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from chatbot_mvp.errors import ProviderError
from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishReason, Usage
from chatbot_mvp.llm.thoughts import Spoken, opens_thought, without_thoughts
from chatbot_mvp.llm.wire import Delta, UnusableReply, Wire
from chatbot_mvp.remote.calls import Calls
from chatbot_mvp.remote.failures import Failure

Price = Callable[[Usage], float | None]
"""Tokens -> US dollars; None if the price is not known."""

_MODELS_SHOWN = 8
_NO_TEXT: dict[FinishReason | None, str] = {
    "stop": "it holds no text",
    "length": "its tokens were used up before its first word, as by a model that thinks first: raise LLM_MAX_TOKENS",
}
"""Finish reason -> why a reply without text is unusable. A filtered reply may be empty."""


class RemoteModel:
    """A provider's model. Safe to share between threads."""

    needs_evidence = False

    def __init__(self, wire: Wire, calls: Calls, price: Price) -> None:
        self._wire = wire
        self._calls = calls
        self._price = price
        self.name = f"{calls.endpoint.provider}/{calls.endpoint.model}"
        self.address = calls.endpoint.base_url
        self._thinks = False
        """Whether a reply has begun within a thought, without its opening tag: those to come will, too."""

    def complete(self, request: ChatRequest) -> Completion:
        started = time.perf_counter()
        sent = _sendable(request)

        def attempt() -> Delta:
            reply = self._wire.complete(sent)
            if reply.finish_reason is None:
                raise UnusableReply("it does not say why it ended")
            said = self._said(reply.text)
            if not said and reply.finish_reason in _NO_TEXT:
                raise UnusableReply(_NO_TEXT[reply.finish_reason])
            return replace(reply, text=said)

        reply = self._calls.run(attempt, self._failure_of)
        usage = self._usage(reply.prompt_tokens, reply.completion_tokens)
        seconds = time.perf_counter() - started
        return Completion(reply.text, self.name, seconds, reply.finish_reason or "stop", usage)

    def stream(self, request: ChatRequest) -> ChatStream:
        """Return the stream of a reply. The request is sent when the iteration starts."""
        sent = _sendable(request)
        pieces = self._calls.stream(lambda: self._wire.stream(sent), self._failure_of)
        return RemoteStream(pieces, self.name, self._usage, self._calls.fail, Spoken(self._thinks), self._said)

    def check(self, timeout: float) -> float:
        """Request the provider's list of models once, without retries; return the seconds it took.

        Raises:
            ProviderError (provider_model_unknown): the list does not contain this model.
            ProviderError: the request failed.
        """
        started = time.perf_counter()
        names = self.models(timeout)
        seconds = time.perf_counter() - started
        endpoint = self._calls.endpoint
        # Ollama lists "llama3.2" as "llama3.2:latest".
        if names and not {endpoint.model, f"{endpoint.model}:latest"} & set(names):
            more = f" … ({len(names)})" if len(names) > _MODELS_SHOWN else ""
            raise ProviderError(
                "provider_model_unknown",
                provider=endpoint.provider,
                model=endpoint.model,
                address=endpoint.base_url,
                reason=", ".join(sorted(names)[:_MODELS_SHOWN]) + more,
                variable=endpoint.model_variable,
            )
        return seconds

    def models(self, timeout: float) -> Sequence[str]:
        """Request the names of the provider's models once, without retries; ``timeout`` in seconds.

        Raises:
            ProviderError: the request failed.
        """
        return Calls(self._calls.endpoint, self._calls.limiter, retries=0, longest_wait=0.0).run(
            lambda: self._wire.models(timeout), self._failure_of
        )

    def _said(self, text: str) -> str:
        """Return a reply without its thoughts."""
        said = without_thoughts(text)
        self._thinks = self._thinks or (said != text and not opens_thought(text))
        return said

    def _usage(self, prompt_tokens: int | None, completion_tokens: int | None) -> Usage:
        usage = Usage(prompt_tokens, completion_tokens)
        return replace(usage, cost_usd=self._price(usage))

    def _failure_of(self, error: Exception) -> Failure | None:
        if isinstance(error, UnusableReply):
            return Failure("reply", str(error))
        return self._wire.failure_of(error)


def _sendable(request: ChatRequest) -> ChatRequest:
    """Return the request without lone surrogates, which cannot be encoded in UTF-8."""
    messages = (replace(m, content=m.content.encode("utf-8", "replace").decode()) for m in request.messages)
    return replace(request, messages=tuple(messages))


class RemoteStream:
    """A ``ChatStream`` over the pieces of a reply."""

    def __init__(
        self,
        pieces: Generator[Delta, None, None],
        model: str,
        usage: Callable[[int | None, int | None], Usage],
        fail: Callable[[Failure], NoReturn],
        spoken: Spoken,
        said: Callable[[str], str],
    ) -> None:
        """
        Args:
            fail: raises the error of a stream that is not complete: one without a finish reason was cut off.
            spoken: lets pieces pass that are no thought.
            said: returns a text without thoughts whose end alone was marked.
        """
        self._spoken, self._said = spoken, said
        self._pieces, self._model, self._usage, self._fail = pieces, model, usage, fail
        self._started = time.perf_counter()
        self._seconds: float | None = None
        self._text: list[str] = []
        self._finish: FinishReason | None = None
        self._tokens: tuple[int | None, int | None] = (None, None)
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        try:
            for piece in self._pieces:
                self._finish = piece.finish_reason or self._finish
                if piece.prompt_tokens is not None or piece.completion_tokens is not None:
                    self._tokens = (piece.prompt_tokens, piece.completion_tokens)
                if self._closed:
                    return
                if text := self._spoken.add(piece.text):
                    self._text.append(text)
                    yield text
            if self._closed:
                return
            if text := self._spoken.end():
                self._text.append(text)
                yield text
            if self._finish is None:
                self._fail(Failure("reply", "it broke off before its end"))
            if not self._said("".join(self._text)) and self._finish in _NO_TEXT:
                self._fail(Failure("reply", _NO_TEXT[self._finish]))
            self._seconds = time.perf_counter() - self._started
        finally:
            if self._closed:
                self._shut()

    @property
    def completion(self) -> Completion:
        ended = self._seconds is not None and self._finish is not None
        seconds = time.perf_counter() - self._started if self._seconds is None else self._seconds
        reason = self._finish if ended and self._finish else "cancelled"
        return Completion(self._said("".join(self._text)), self._model, seconds, reason, self._usage(*self._tokens))

    def close(self) -> None:
        self._closed = True
        if self._seconds is None:
            self._seconds = time.perf_counter() - self._started
            self._finish = None
        self._shut()

    def _shut(self) -> None:
        # ValueError: another thread is reading the next piece; that thread closes the generator afterwards.
        with suppress(ValueError):
            self._pieces.close()
