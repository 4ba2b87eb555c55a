"""Adapter for OpenAI's chat completions: openai, nim, ollama, local, and groq with its own SDK."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from types import ModuleType
from typing import Any

from chatbot_mvp.llm.base import ChatRequest, FinishReason
from chatbot_mvp.llm.wire import Delta, UnusableReply
from chatbot_mvp.remote.failures import Failure, failure_of_status
from chatbot_mvp.remote.lines import Lines
from chatbot_mvp.remote.stop import Stop

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "filtered",
    "tool_calls": "stop",
    "function_call": "stop",
}
_OWN_TEMPERATURE = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")
"""OpenAI models that reject any temperature except their default; other servers put a prefix before their names."""
_OPTIONAL = ("temperature", "seed", "stream_options")
"""Parameters that a request can do without."""


class OpenAiWire:
    """Works with both SDKs, ``openai`` and ``groq``: their calls and exceptions have the same names."""

    def __init__(
        self,
        sdk: ModuleType,
        lines: Lines[Any],
        model: str,
        timeout: float,
        limit_name: str = "max_tokens",
        asks_usage: bool = True,
    ) -> None:
        """
        Args:
            sdk: the module ``openai`` or ``groq``, which defines the exceptions of its clients.
            lines: the clients, one per request under way.
            timeout: time-out of the clients in seconds, shown in errors.
            limit_name: name of the parameter that limits the length of a reply.
            asks_usage: True if a stream reports its tokens only on request.
        """
        self._sdk = sdk
        self._lines = lines
        self._model = model
        self._timeout = timeout
        self._limit_name = limit_name
        self._refused: set[str] = set()
        """Parameters that the server has refused."""
        self._streamed = {"stream": True, **({"stream_options": {"include_usage": True}} if asks_usage else {})}

    def complete(self, request: ChatRequest) -> Delta:
        with self._lines.borrow(request.stop) as client:
            reply = self._create(client, self._arguments(request))
        choice = _first_choice(reply)
        message = getattr(choice, "message", None)
        if message is None:
            raise UnusableReply("it has no message")
        prompt_tokens, completion_tokens = _tokens(reply)
        return Delta(message.content or "", _finish(choice), prompt_tokens, completion_tokens)

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        with (
            self._lines.borrow(request.stop) as client,
            self._create(client, self._arguments(request) | self._streamed) as chunks,
        ):
            for chunk in chunks:
                choice = next(iter(getattr(chunk, "choices", None) or []), None)
                delta = getattr(choice, "delta", None)
                piece = Delta(getattr(delta, "content", None) or "", _finish(choice), *_tokens(chunk))
                if not piece.empty:
                    yield piece

    def _create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Send a request. If the server refuses a parameter that it can do without, send it once more without it."""
        arguments = {name: value for name, value in arguments.items() if name not in self._refused}
        try:
            return client.chat.completions.create(**arguments)
        except self._sdk.BadRequestError as error:
            told = str(error)
            refused = [name for name in _OPTIONAL if name in arguments and re.search(rf"\b{name}\b", told)]
            if "max_tokens" in arguments and "max_completion_tokens" in told:
                self._limit_name = "max_completion_tokens"
                arguments["max_completion_tokens"] = arguments.pop("max_tokens")
            elif not refused:
                raise
            reply = client.chat.completions.create(**{k: v for k, v in arguments.items() if k not in refused})
            self._refused.update(refused)
            return reply

    def models(self, timeout: float) -> Sequence[str]:
        with self._lines.borrow(Stop()) as client:
            return [model.id for model in client.with_options(timeout=timeout).models.list().data or []]

    def failure_of(self, error: Exception) -> Failure | None:
        sdk = self._sdk
        kinds = {cls.__name__ for cls in type(error).__mro__}
        if isinstance(error, sdk.APITimeoutError) or "TimeoutException" in kinds:
            return Failure("unavailable", f"no answer within {self._timeout:g} s")
        if isinstance(error, sdk.APIConnectionError):
            return Failure("unavailable", f"the connection failed ({error.__cause__ or error})")
        if isinstance(error, sdk.APIStatusError):
            body = error.body if error.body is not None else error.response.text
            return failure_of_status(error.status_code, error.response.headers, body)
        # While a stream is read, the SDKs do not wrap the exceptions of httpx (or of a successor with the same names).
        if "TransportError" in kinds:
            return Failure("unavailable", f"the connection was lost ({error or type(error).__name__})")
        if isinstance(error, sdk.APIResponseValidationError):
            return Failure("reply", f"it is not of the expected form ({error})")
        if isinstance(error, sdk.APIError):  # sent by the provider within a stream
            return Failure("unavailable", str(error))
        if isinstance(error, (ValueError, RecursionError)):  # the latter: brackets nested too deep
            return Failure("reply", f"it is not JSON ({error})")
        return None

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        options = request.options
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if not _OWN_TEMPERATURE.match(self._model):
            arguments["temperature"] = options.temperature
        if options.max_tokens is not None:
            arguments[self._limit_name] = options.max_tokens
        if options.seed is not None:
            arguments["seed"] = options.seed
        if options.json_schema is not None:
            schema = {"name": "reply", "schema": dict(options.json_schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        return arguments


def _first_choice(reply: Any) -> Any:
    choices = getattr(reply, "choices", None)
    if not choices:
        raise UnusableReply("it holds no choice" if hasattr(reply, "choices") else "it is not JSON")
    return choices[0]


def _finish(choice: Any) -> FinishReason | None:
    said = getattr(choice, "finish_reason", None)
    return _FINISH.get(said, "stop") if said else None


def _tokens(reply: Any) -> tuple[int | None, int | None]:
    """Return (prompt, completion) tokens. For streams, groq reports them in the field ``x_groq``."""
    usage = getattr(reply, "usage", None) or getattr(getattr(reply, "x_groq", None), "usage", None)
    return getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
