"""Serves the chat as an OpenAI-compatible endpoint. A model is a knowledge base with a mode ("<kb_id>:strict").

Routes: ``GET /v1/models``, ``POST /v1/chat/completions`` (also streamed), those of ``server.knowledge_bases``, and
``GET /health``, which needs no token.
Replies add fields to OpenAI's that explain the answer: ``AnswerRecord.as_reply`` and ``provider``. Each request carries
its whole conversation; the server keeps no state between requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from chatbot_mvp.api import MODES
from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Event, Finished
from chatbot_mvp.errors import ChatbotError, KbChangeError, KbNotFound
from chatbot_mvp.knowledge_base.pipelines import JOINED
from chatbot_mvp.server.errors import BadRequest, no_model, refusal_of
from chatbot_mvp.server.guards import HostGuard, has_token, wrong_token
from chatbot_mvp.server.knowledge_bases import Handler, KbCalls
from chatbot_mvp.server.replies import DONE, Chunks, completion
from chatbot_mvp.server.request import AskedCompletion, read_request
from chatbot_mvp.server.running import RunningAnswer
from chatbot_mvp.server.warmup import WarmUp
from chatbot_mvp.settings.kinds import names_of
from chatbot_mvp.settings.network import HostRule

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 1_000_000
SILENCE_S = 15.0
"""A stream that is silent for so long gets a comment, which its client passes over: proxies cut what is silent."""
_COMMENT = b": still at work\n\n"
_CALLS = "GET /v1/models, POST /v1/chat/completions, /v1/knowledge_bases"
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def build_server(app: App, token: str, host: str = "127.0.0.1", warm_up: WarmUp | None = None) -> Starlette:
    """Build the ASGI application. Every request except ``/health`` must carry ``token`` as its bearer token.

    Args:
        host: address that the server listens on, under which it may be opened.
        warm_up: reported by ``/health``; None if nothing is loaded in advance.
    """
    endpoint = _Endpoint(app, token, warm_up)
    origins = names_of(app.settings.serve_cors_origins)
    middleware = [Middleware(HostGuard, HostRule(app.settings.allowed_hosts, host), origins)]
    if origins:
        middleware.append(
            Middleware(CORSMiddleware, allow_origins=origins, allow_methods=_METHODS, allow_headers=["*"])
        )
    return Starlette(
        routes=[
            Route("/health", endpoint.health),
            Route("/v1/models", endpoint.guarded(endpoint.models)),
            Route("/v1/models/{model:path}", endpoint.guarded(endpoint.model)),
            Route("/v1/chat/completions", endpoint.guarded(endpoint.completions), methods=["POST"]),
            *_kb_routes(KbCalls(app), endpoint.guarded),
        ],
        middleware=middleware,
        exception_handlers={404: _not_found, 405: _not_allowed},
    )


def _kb_routes(calls: KbCalls, guarded: Callable[[Handler], Any]) -> list[Route]:
    at = "/v1/knowledge_bases"
    rows: list[tuple[str, Handler, list[str]]] = [
        ("", calls.listed, ["GET", "POST"]),
        ("/{kb}", calls.one, ["GET", "PATCH", "DELETE"]),
        ("/{kb}/documents", calls.documents, ["GET", "POST", "PUT", "PATCH"]),
        ("/{kb}/original", calls.original, ["GET"]),
        ("/{kb}/history", calls.history, ["GET"]),
        ("/{kb}/diff", calls.difference, ["GET"]),
        ("/{kb}/restore", calls.restore, ["POST"]),
        ("/{kb}/draft", calls.draft, ["GET", "POST", "DELETE"]),
    ]
    return [Route(at + path, guarded(calls.bounded(handler)), methods=methods) for path, handler, methods in rows]


class _Endpoint:
    def __init__(self, app: App, token: str, warm_up: WarmUp | None) -> None:
        self._app = app
        self._token = token
        self._warm_up = warm_up
        self._answers: list[RunningAnswer] = []
        """Answers whose work has not ended, also those of clients who have left."""

    def guarded(self, handler: Handler) -> Any:
        """Wrap ``handler``: require the token, and return every error in OpenAI's form."""

        async def guard(request: Request) -> Response:
            if not has_token(request.headers, self._token):
                return wrong_token()
            try:
                return await handler(request)
            except BadRequest as error:
                return error.response()
            except ChatbotError as error:
                return refusal_of(error).response()
            except ClientDisconnect:
                return Response(status_code=499)  # nobody reads it
            except Exception:
                log.exception("a request failed")
                return BadRequest("The server failed; see its log.", 500, "server_error").response()

        return guard

    async def health(self, _: Request) -> Response:
        warm_up = self._warm_up
        if warm_up is None or warm_up.ready:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "loading", "loaded": warm_up.done, "total": warm_up.total})

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": await self._listed()})

    async def model(self, request: Request) -> Response:
        wanted = request.path_params["model"]
        for entry in await self._listed():
            if entry["id"] == wanted:
                return JSONResponse(entry)
        raise no_model(wanted)

    async def _listed(self) -> list[dict[str, Any]]:
        return [entry for record in await run_in_threadpool(self._app.kbs.records) for entry in _models(record)]

    async def completions(self, request: Request) -> Response:
        asked = read_request(await _body(request))
        try:
            kb_ids, left_out = await run_in_threadpool(lambda: _named(self._app, asked.kb_id))
        except KbNotFound as error:
            raise no_model(asked.model) from error
        except KbChangeError as error:  # two have this name
            raise BadRequest(str(error), 409, code=error.code, param="model") from error
        context = replace(asked.context, language="")
        self._require_place()
        running = RunningAnswer(
            lambda: self._app.answering.stream_over(
                kb_ids, asked.question, context, asked.history, streamed=asked.stream, hold=True
            )
        )
        self._answers.append(running)
        return await _reply(request, running, asked, left_out)

    def _require_place(self) -> None:
        limit = self._app.settings.serve_max_connections
        self._answers = [answer for answer in self._answers if answer.working]
        if len(self._answers) >= limit:
            told = f"The server is making {limit} answers, its limit (SERVE_MAX_CONNECTIONS). Try again in a moment."
            raise BadRequest(told, 503, "server_error", "too_many_answers")


def _named(app: App, reference: str) -> tuple[list[str], Mapping[str, Sequence[str]]]:
    """Return (ids of the knowledge bases that a model names, one or several that are asked together; ``left_out``)."""
    try:
        kb_ids = [app.kbs.named(reference).kb_id]
    except KbNotFound:
        kb_ids = [app.kbs.named(name).kb_id for name in reference.split(JOINED)]
    return kb_ids, app.kbs.left_out(kb_ids)


async def _reply(
    request: Request, running: RunningAnswer, asked: AskedCompletion, left_out: Mapping[str, Sequence[str]]
) -> Response:
    """Return the reply of an answer; cancel the answer if its client disconnects."""
    events = aiter(running)
    left = asyncio.ensure_future(_disconnect(request))
    try:
        while True:
            coming = asyncio.ensure_future(anext(events))
            await asyncio.wait((coming, left), return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                running.cancel()
                raise ClientDisconnect
            event = coming.result()
            if asked.stream:
                # The first event comes after the search, so an error of the search still is an HTTP status.
                return _Stream(
                    running, _lines(event, events, Chunks(asked.model, asked.with_usage, asked.ignored, left_out))
                )
            if isinstance(event, Finished):
                return JSONResponse(completion(event.answer, asked.model, asked.ignored, left_out))
    except KbNotFound as error:
        raise no_model(asked.model) from error
    finally:
        left.cancel()


class _Stream(StreamingResponse):
    """Sends server-sent events. If the client disconnects, the model is stopped."""

    def __init__(self, running: RunningAnswer, lines: AsyncIterator[bytes]) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._running.cancel()


async def _lines(first: Event, events: AsyncIterator[Event], chunks: Chunks) -> AsyncIterator[bytes]:
    try:
        yield chunks.begin()
        for line in chunks.of(first):
            yield line
        async for event in with_silences(events):
            for line in chunks.of(event) if event is not None else (_COMMENT,):
                yield line
    except ChatbotError as error:
        yield chunks.failed(error)
    yield DONE


async def with_silences(events: AsyncIterator[Event]) -> AsyncIterator[Event | None]:
    """Yield the events, and None for each SILENCE_S without one."""
    while True:
        coming = asyncio.ensure_future(anext(events))
        try:
            while not (await asyncio.wait((coming,), timeout=SILENCE_S))[0]:
                yield None
            yield coming.result()
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MAX_BODY_BYTES:
            raise BadRequest(f"The request is larger than {MAX_BODY_BYTES} bytes.", 413)
    return raw


def _models(record: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{record.kb_id}:{mode}",
            "object": "model",
            "created": int(datetime.fromisoformat(record.added_at).timestamp()),
            "owned_by": "chatbot-mvp",
            "kb_name": record.kb_name,
            "language": record.language,
        }
        for mode in MODES
    ]


async def _not_found(request: Request, _: Exception) -> Response:
    return BadRequest(
        f"There is nothing at {request.url.path}; the calls are: {_CALLS}.", 404, code="not_found"
    ).response()


async def _not_allowed(request: Request, _: Exception) -> Response:
    return BadRequest(f"{request.method} is not allowed at {request.url.path}.", 405).response()
