"""Serves the chat as an OpenAI-compatible endpoint. A model is a knowledge base with a mode ("<kb_id>:strict").

Routes: ``GET /v1/models``, ``POST /v1/chat/completions`` (also streamed) and ``GET /health``, which needs no token.
Replies add fields to OpenAI's that explain the answer: ``AnswerRecord.as_reply`` and ``provider``. Each request carries
its whole conversation; the server keeps no state between requests.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from chatbot_mvp import logs
from chatbot_mvp.api import MODES, Answer, PastTurn, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Finished, Piece, Restarted
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.errors import ChatbotError, ConfigurationError, KbNotFound
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1_000_000
KNOBS = ("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_min_evidence", "kb_doubt_evidence")
"""Fields of a request that override a setting for that question."""


class BadRequest(Exception):
    """An error reply in the form that OpenAI's clients expect."""

    def __init__(
        self, message: str, status: int = 400, kind: str = "invalid_request_error", code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}


def build_server(app: App, token: str) -> Starlette:
    """Build the ASGI application. Every request except ``/health`` must carry ``token`` as its bearer token."""
    endpoint = _Endpoint(app, token)
    return Starlette(
        routes=[
            Route("/health", endpoint.health),
            Route("/v1/models", endpoint.guarded(endpoint.models)),
            Route("/v1/models/{model:path}", endpoint.guarded(endpoint.model)),
            Route("/v1/chat/completions", endpoint.guarded(endpoint.completions), methods=["POST"]),
        ],
        exception_handlers={404: _not_found, 405: _not_allowed},
    )


def serve(app: App, host: str, port: int) -> None:
    """Serve until stopped. Without ``SERVE_TOKEN``, generate a token and print it once on stderr."""
    import uvicorn

    token = app.settings.serve_token.get_secret_value()
    if not token:
        token = secrets.token_urlsafe(24)
        logs.say(f"SERVE_TOKEN is not set; token of this run: {token}", logging.WARNING)
    logs.say(f"http://{host}:{port}/v1")
    # With None, uvicorn sends its log lines to the existing handlers.
    own = None if logs.is_jsonl() else uvicorn.config.LOGGING_CONFIG
    server = build_server(app, token)
    uvicorn.run(server, host=host, port=port, log_level="warning", server_header=False, log_config=own)


class _Endpoint:
    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    def guarded(self, handler: Any) -> Any:
        """Wrap ``handler``: require the token, and return every error in OpenAI's form."""

        async def guard(request: Request) -> Response:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
                error = BadRequest("The bearer token is missing or wrong.", 401, code="invalid_api_key")
                return JSONResponse(error.body, 401, headers={"WWW-Authenticate": "Bearer"})
            try:
                response: Response = await handler(request)
            except BadRequest as error:
                return JSONResponse(error.body, error.status)
            except ChatbotError as error:
                return JSONResponse(*_told(error))
            except Exception:
                log.exception("a request failed")
                failed = BadRequest("The server failed; see its log.", 500, "server_error")
                return JSONResponse(failed.body, 500)
            return response

        return guard

    async def health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(self, _: Request) -> Response:
        found = [entry for record in await run_in_threadpool(self._app.kbs.records) for entry in _models(record)]
        return JSONResponse({"object": "list", "data": found})

    async def model(self, request: Request) -> Response:
        wanted = request.path_params["model"]
        for record in await run_in_threadpool(self._app.kbs.records):
            for entry in _models(record):
                if entry["id"] == wanted:
                    return JSONResponse(entry)
        raise _no_model(wanted)

    async def completions(self, request: Request) -> Response:
        body = await _body(request)
        kb_id, context = _asked_of(body)
        question, history = _conversation(body)
        if body.get("n") not in (None, 1):
            raise BadRequest("'n' is not supported: each question has one answer.")
        try:
            record = next((kb for kb in await run_in_threadpool(self._app.kbs.records) if kb.kb_id == kb_id), None)
            if record is None:
                raise _no_model(str(body.get("model")))
            context = replace(context, language=record.language)
            if body.get("stream"):
                stream = await run_in_threadpool(self._app.answering.stream, kb_id, question, context, history)
                usage = bool((body.get("stream_options") or {}).get("include_usage"))
                return StreamingResponse(
                    _events(stream, str(body["model"]), usage),
                    media_type="text/event-stream",
                    headers={"Cache-Control": "no-store"},
                )
            answer = await run_in_threadpool(self._app.answering.ask, kb_id, question, context, history)
        except KbNotFound as error:
            raise _no_model(str(body.get("model"))) from error
        return JSONResponse(_completion(answer, str(body["model"])))


def _models(record: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{record.kb_id}:{mode}",
            "object": "model",
            "created": 0,
            "owned_by": "chatbot-mvp",
            "kb_name": record.kb_name,
            "language": record.language,
        }
        for mode in MODES
    ]


async def _body(request: Request) -> Mapping[str, Any]:
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MAX_BODY_BYTES:
            raise BadRequest(f"The request is larger than {MAX_BODY_BYTES} bytes.", 413)
    try:
        body = parse_json(raw)
    except InvalidJson as error:
        raise BadRequest(f"The request is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("The request must be a JSON object.")
    return body


def _asked_of(body: Mapping[str, Any]) -> tuple[str, UserContext]:
    """Return (knowledge base id, mode and overrides) of a request."""
    model = body.get("model")
    if not isinstance(model, str):
        raise BadRequest("'model' must be the id of a knowledge base and a mode, as listed by /v1/models.")
    kb_id, _, wanted = model.rpartition(":")
    mode = next((mode for mode in MODES if mode == wanted), None)
    if mode is None or not kb_id:
        raise _no_model(model)
    knobs: dict[str, Any] = {name: body[name] for name in KNOBS if body.get(name) is not None}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if limit is not None:
        knobs["chat_max_tokens"] = limit
    for name, value in knobs.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadRequest(f"{name!r} must be a number, not {value!r}.")
    return kb_id, UserContext(mode, **knobs)


def _conversation(body: Mapping[str, Any]) -> tuple[str, tuple[PastTurn, ...]]:
    """Return (last question, turns before it). System messages are ignored: the chat uses its own instructions."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages' must be a list with at least one message.")
    said: list[tuple[str, str]] = []
    for row, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "developer", "user", "assistant"):
            raise BadRequest(f"'messages[{row}]' must have the role system, developer, user or assistant.")
        if role in ("user", "assistant"):
            said.append((role, _text(message.get("content"), row)))
    if not said or said[-1][0] != "user":
        raise BadRequest("The last message must be the user's.")
    turns: list[PastTurn] = []
    for (role, text), (following, reply) in pairwise(said):
        if (role, following) == ("user", "assistant"):
            turns.append(PastTurn(text, reply))
    return said[-1][1], tuple(turns)


def _text(content: Any, row: int) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str) for part in content
    ):
        return "\n".join(part["text"] for part in content)
    raise BadRequest(f"'messages[{row}].content' must be text.")


def _completion(answer: Answer, model: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text, "refusal": None},
                "logprobs": None,
                "finish_reason": _finish_reason(answer),
            }
        ],
        "usage": _usage(answer),
        "system_fingerprint": answer.fingerprint,
        **_extra(answer),
    }


async def _events(stream: AnswerStream, model: str, with_usage: bool) -> AsyncIterator[bytes]:
    """Yield server-sent events. If the client disconnects, the model is stopped."""
    head = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
    }

    def line(delta: Mapping[str, Any], reason: str | None = None, **extra: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _sse({**head, "choices": [choice], **extra})

    def lines() -> Iterator[bytes]:
        sent, said = "", False
        try:
            yield line({"role": "assistant", "content": ""})
            for event in stream:
                if isinstance(event, Piece):
                    sent, said = sent + event.text, True
                    yield line({"content": event.text})
                elif isinstance(event, Restarted):
                    # The text already sent cannot be taken back; the replacement answer begins in a new paragraph.
                    said = False
                    yield line({"content": "\n\n" if sent else ""}, fell_back=True)
                elif isinstance(event, Finished):
                    answer = event.answer
                    if answer.why == "unsupported" and said:
                        # The model's text is sent already; the fixed reply that replaces it begins in a new paragraph.
                        yield line({"content": f"\n\n{answer.text}"})
                    elif answer.abstained and not said:
                        yield line({"content": answer.text})
                    yield line({}, _finish_reason(answer), answer=answer.text, **_extra(answer))
                    if with_usage:
                        yield _sse({**head, "choices": [], "usage": _usage(answer)})
        except ChatbotError as error:
            yield _sse(_told(error)[0])
        yield b"data: [DONE]\n\n"

    try:
        async for part in iterate_in_threadpool(lines()):
            yield part
    finally:
        # Not awaited: after a disconnect this task is already cancelled.
        with contextlib.suppress(Exception):
            stream.cancel()


def _sse(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _extra(answer: Answer) -> dict[str, Any]:
    return {**record_of(answer).as_reply(), "provider": answer.completion.model if answer.completion else None}


def _finish_reason(answer: Answer) -> str:
    reason = answer.completion.finish_reason if answer.completion else "stop"
    return {"length": "length", "filtered": "content_filter"}.get(reason, "stop")


def _usage(answer: Answer) -> dict[str, int]:
    usage = answer.completion.usage if answer.completion else None
    prompt = (usage.prompt_tokens if usage else None) or 0
    completion = (usage.completion_tokens if usage else None) or 0
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _told(error: ChatbotError) -> tuple[dict[str, Any], int]:
    """Return (body, HTTP status) for a ChatbotError."""
    wrong = isinstance(error, ConfigurationError)
    told = BadRequest(
        str(error), 400 if wrong else 502, "invalid_request_error" if wrong else "server_error", error.code or None
    )
    return told.body, told.status


def _no_model(model: str) -> BadRequest:
    return BadRequest(f"There is no model {model!r}; /v1/models lists the available ones.", 404, code="model_not_found")


async def _not_found(request: Request, _: Exception) -> Response:
    return JSONResponse(BadRequest(f"There is nothing at {request.url.path}.", 404, code="not_found").body, 404)


async def _not_allowed(request: Request, _: Exception) -> Response:
    return JSONResponse(BadRequest(f"{request.method} is not allowed at {request.url.path}.", 405).body, 405)
