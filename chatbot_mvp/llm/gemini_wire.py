"""Adapter for Gemini. The only module that uses the SDK google-generativeai."""

from __future__ import annotations

import importlib
import json
import threading
import warnings
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import SecretStr

from chatbot_mvp.llm.base import ChatRequest, FinishReason
from chatbot_mvp.llm.wire import Delta, UnusableReply
from chatbot_mvp.remote.failures import Failure, failure_of_status, redirected
from chatbot_mvp.remote.lines import Lines, requests_adapter
from chatbot_mvp.remote.stop import Stop

_FINISH: dict[str, FinishReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
"""Any other reason means that a filter stopped the reply."""
_SCHEMA_KEYS = ("type", "format", "description", "nullable", "enum", "required", "maxItems", "minItems")
"""Keys of Gemini's subset of JSON schema, besides properties and items."""
_CONFIGURE = threading.Lock()


class _Clients(NamedTuple):
    """The SDK's clients over one connection."""

    generator: Any
    lister: Any


class GeminiWire:
    """Uses REST, which passes proxies and allows a stream to be closed at any time."""

    def __init__(self, key: SecretStr, base_url: str, model: str, timeout: float) -> None:
        """
        Args:
            timeout: maximum wait, in seconds.

        Raises:
            ImportError: the SDK is not installed.
        """
        with warnings.catch_warnings():
            # Every import warns that its support has ended; DEV_NOTES.md says why it is used and how to replace it.
            warnings.simplefilter("ignore", FutureWarning)
            # Its annotations contradict its documentation, so it is used untyped.
            genai: Any = importlib.import_module("google.generativeai")
            client: Any = importlib.import_module("google.generativeai.client")
        self._genai = genai
        self._model = model
        self._timeout = timeout

        options = {"api_endpoint": base_url.rstrip("/")}

        def make(adapter: Any) -> _Clients:
            with _CONFIGURE:  # the SDK keeps one configuration for the process
                genai.configure(api_key=key.get_secret_value(), transport="rest", client_options=options)
                clients = _Clients(client.get_default_generative_client(), client.get_default_model_client())
            for made in clients:
                # The SDK has no public way to its session; without the adapter, a stop waits for the next piece.
                made.transport._session.mount("https://", adapter)
                made.transport._session.mount("http://", adapter)
                made.transport._session.max_redirects = 0
            return clients

        self._lines = Lines(make, timeout, "gemini", requests_adapter)

    def complete(self, request: ChatRequest) -> Delta:
        with self._lines.borrow(request.stop) as clients:
            return self._delta(self._generate(clients, request, stream=False))

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        with self._lines.borrow(request.stop) as clients:
            try:
                response = self._generate(clients, request, stream=True)
            except StopIteration as error:  # the SDK reads the first piece at once
                raise UnusableReply("it is empty") from error
            try:
                for chunk in response:
                    piece = self._delta(chunk)
                    if not piece.empty:
                        yield piece
            finally:
                # The SDK has no public way to close a stream; without this the connection stays open.
                response._iterator.cancel()

    def models(self, timeout: float) -> Sequence[str]:
        options = {"timeout": timeout, "retry": None}
        with self._lines.borrow(Stop()) as clients:
            return [
                model.name.removeprefix("models/")
                for model in self._genai.list_models(client=clients.lister, request_options=options)
                if "generateContent" in model.supported_generation_methods
            ]

    def failure_of(self, error: Exception) -> Failure | None:
        import requests
        from google.api_core import exceptions
        from google.auth.exceptions import TransportError

        if isinstance(error, exceptions.GoogleAPICallError) and error.code is not None:
            response = error.response
            headers: Mapping[str, str] = getattr(response, "headers", {})
            # The SDK's own message begins with method and address.
            said = str(error.message).partition(": ")[2] or str(error.message)
            body = {
                "error": {
                    "message": said,
                    "details": [detail for detail in error.details or [] if isinstance(detail, dict)],
                }
            }
            return failure_of_status(int(error.code), headers, body)
        if isinstance(error, requests.TooManyRedirects):
            return redirected(error.response.headers if error.response is not None else {})
        if isinstance(error, (requests.Timeout, exceptions.RetryError)):
            return Failure("unavailable", f"no answer within {self._timeout:g} s")
        if isinstance(error, (json.JSONDecodeError, requests.exceptions.InvalidJSONError)):
            return Failure("reply", f"it is not JSON ({error})")
        if isinstance(error, (requests.RequestException, TransportError, ConnectionError)):
            # requests wraps the cause in the names of three classes.
            cause = str(error).rpartition(": ")[2].rstrip("'\")")
            return Failure("unavailable", f"the connection failed ({cause})")
        if isinstance(error, ValueError) or type(error).__name__ == "ParseError":
            return Failure("reply", f"it cannot be read ({error})")
        return None

    def _generate(self, clients: _Clients, request: ChatRequest, *, stream: bool) -> Any:
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        model = self._genai.GenerativeModel(self._model, system_instruction=system or None)
        model._client = clients.generator  # not the process-wide client, which may have another address by now
        contents = [
            {"role": "model" if message.role == "assistant" else "user", "parts": [message.content]}
            for message in request.messages
            if message.role != "system"
        ]
        return model.generate_content(
            contents or [{"role": "user", "parts": [""]}],
            generation_config=_config(request),
            stream=stream,
            request_options={"timeout": self._timeout, "retry": None},
        )

    def _delta(self, response: Any) -> Delta:
        tokens = _tokens(response.usage_metadata)
        if not response.candidates:
            if response.prompt_feedback.block_reason:
                return Delta("", "filtered", *tokens)
            if tokens != (None, None):
                return Delta("", None, *tokens)
            raise UnusableReply("it holds no candidate")
        candidate = response.candidates[0]
        text = "".join(part.text for part in candidate.content.parts)
        said = candidate.finish_reason.name
        finish = None if said == "FINISH_REASON_UNSPECIFIED" else _FINISH.get(said, "filtered")
        return Delta(text, finish, *tokens)


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Return (prompt, completion) tokens. Thinking tokens are billed as reply, but this SDK reports only the total."""
    if not usage or not usage.prompt_token_count:
        return None, None
    thought_and_said = usage.total_token_count - usage.prompt_token_count
    return usage.prompt_token_count, max(usage.candidates_token_count, thought_and_said) or None


def _config(request: ChatRequest) -> dict[str, Any]:
    options = request.options
    config: dict[str, Any] = {"temperature": options.temperature}
    if options.max_tokens is not None:
        config["max_output_tokens"] = options.max_tokens
    # This SDK does not support a seed.
    if options.json_schema is not None:
        config["response_mime_type"] = "application/json"
        config["response_schema"] = _schema(options.json_schema)
    return config


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce a JSON schema to the keys that Gemini accepts."""
    kept = {name: schema[name] for name in _SCHEMA_KEYS if name in schema}
    if "properties" in schema:
        kept["properties"] = {name: _schema(value) for name, value in schema["properties"].items()}
    if "items" in schema:
        kept["items"] = _schema(schema["items"])
    return kept
