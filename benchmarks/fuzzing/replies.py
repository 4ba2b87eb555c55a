"""Targets that read what models, providers and clients of the API send."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import openai
from pydantic import BaseModel, SecretStr

from chatbot_mvp.app import build_app
from chatbot_mvp.chat.citations import clean_citations, find_sources
from chatbot_mvp.chat.verification import verify, with_citations
from chatbot_mvp.errors import ProviderError
from chatbot_mvp.evaluation.benchmark.generation import is_abstention, tidy_answer
from chatbot_mvp.evaluation.kb.proposals import Answered, Proposals, find_evidence
from chatbot_mvp.judges.asking import ask
from chatbot_mvp.judges.reading import score_from_text
from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishedStream, Message
from chatbot_mvp.llm.openai_wire import OpenAiWire
from chatbot_mvp.llm.remote_model import RemoteModel
from chatbot_mvp.remote.calls import Calls
from chatbot_mvp.remote.failures import Endpoint, error_of, failure_of_status
from chatbot_mvp.remote.limiter import Limiter
from chatbot_mvp.remote.lines import Lines
from chatbot_mvp.retrieval.indexes.enrichment import tidy_context
from chatbot_mvp.retrieval.stages.rerankers import parse_score
from chatbot_mvp.server.openai import build_server
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.ragas.judging.replies import REPLIES

from .base import Run, Target, expect
from .documents import MANUAL
from .inputs import decoded, split

_SPANISH = Analyzer("es")
_ASKED = ChatRequest((Message("user", "?"),))
_KEY = "sk-fuzz-0123456789"


class _Replies:
    """A model that replies what it is given."""

    name, needs_evidence = "fuzz/model", False

    def __init__(self) -> None:
        self.text = ""

    def complete(self, request: ChatRequest) -> Completion:
        return Completion(self.text, self.name, 0.0, "length" if len(self.text) % 3 == 0 else "stop")

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def _judge_reply(_: Path) -> Run:
    model = _Replies()
    forms: list[type[BaseModel]] = [form for each in REPLIES.values() for form in each.values()]
    forms += [Proposals, Answered]

    def run(data: bytes) -> None:
        model.text = decoded(data)
        form = forms[len(data) % len(forms)]
        asked = ask(model, _ASKED.messages, form, attempts=2, language="es")
        expect((asked.value is None) == bool(asked.reason), "there is a value, or a reason")
        score = score_from_text(model.text)
        expect(score is None or 0.0 <= score <= 1.0, "a score is between 0 and 1")
        rating = parse_score(model.text)
        expect(rating is None or 0.0 <= rating <= 10.0, "a rating is between 0 and 10")

    return run


def _answer(_: Path) -> Run:
    passages = [Chunk("c1", "d", "S", MANUAL[:200], 0, 200), Chunk("c2", "d", "S", MANUAL[200:], 200, len(MANUAL))]

    def run(data: bytes) -> None:
        text = decoded(data)
        cleaned = clean_citations(text, 2)
        expect(clean_citations(text, 0) is not None, "without passages")
        for source in find_sources(cleaned, passages, _SPANISH):
            expect(all(0 <= a < b <= len(MANUAL) for a, b in source.highlights), "highlights are spans of the source")
        statements = verify(cleaned, passages, _SPANISH, lambda term: 1.0)
        expect(
            all(0 <= one.start <= one.end <= len(cleaned) for one in statements), "statements are spans of the answer"
        )
        with_citations(cleaned, statements)
        is_abstention(tidy_answer(text), "es")
        find_evidence(MANUAL, text)
        expect(len(tidy_context(text)) <= 600, "a context is cut")

    return run


class _Sent(httpx.BaseTransport):
    def __init__(self) -> None:
        self.status, self.headers, self.body = 200, {"content-type": "text/event-stream"}, b""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        half = len(self.body) // 2
        pieces = [self.body[:half], self.body[half:]]
        return httpx.Response(self.status, headers=self.headers, stream=_Pieces(pieces))


class _Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


def _remote() -> tuple[_Sent, RemoteModel]:
    sent = _Sent()
    client = openai.OpenAI(
        api_key=_KEY, base_url="http://localhost/v1", max_retries=0, http_client=cast(Any, httpx.Client(transport=sent))
    )
    return sent, RemoteModel(
        OpenAiWire(openai, Lines(lambda _: client, 1.0, "openai"), "m", 1.0), _calls(), lambda usage: None
    )


def _calls() -> Calls:
    return Calls(Endpoint("openai", "m", "http://localhost/v1", SecretStr(_KEY)), Limiter(4), 0, 0.0)


def _stream(_: Path) -> Run:
    sent, model = _remote()

    def run(data: bytes) -> None:
        sent.body, sent.headers, sent.status = data, {"content-type": "text/event-stream"}, 200
        stream = model.stream(_ASKED)
        try:
            text = "".join(stream)
        except ProviderError:
            return
        expect(stream.completion.text == text, "the pieces add up to the text")

    return run


def _reply(_: Path) -> Run:
    kinds = ("application/json", "text/html", "text/event-stream", "")

    # A client for all executions, but a limiter for each: after many refusals it would wait between requests.
    sent, first = _remote()

    def run(data: bytes) -> None:
        model = RemoteModel(first._wire, _calls(), lambda usage: None)
        head, body = (data[:2] + b"\x00\x00")[:2], data[2:]
        sent.status = (200, 200, 400, 401, 404, 413, 429, 500)[head[0] % 8]
        wait = "".join(chr(byte) for byte in body[:12] if 0x20 <= byte < 0x7F)
        sent.headers = {"content-type": kinds[head[1] % 4], "retry-after": wait}
        sent.body = body
        try:
            model.complete(_ASKED)
        except ProviderError as error:
            expect(_KEY not in f"{error}{error.__cause__!r}", "an error shows no key")

    return run


def _failure(_: Path) -> Run:
    endpoint = Endpoint("openai", "m", "http://localhost/v1", SecretStr(_KEY))

    def run(data: bytes) -> None:
        header, raw = split(data, 2)
        try:
            body: Any = json.loads(raw)
        except (ValueError, RecursionError):
            body = decoded(raw)
        failure = failure_of_status(400 + len(data) % 130, {"Retry-After": decoded(header)}, body)
        expect(failure.retry_after is None or failure.retry_after >= 0, "a wait is not negative")
        str(error_of(failure, endpoint))

    return run


def _api(folder: Path) -> Run:
    app = build_app(load_settings(data_dir=folder, retrieval_strategy="LEXICAL", provider="demo"))
    kb = app.kbs.add("m.md", MANUAL.encode()).kb_id
    # One loop for all requests: Starlette's test client would start a thread for each. It has a thread of its own,
    # because the caller's may have a running loop already.
    server = build_server(app, "token")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    headers = [(b"authorization", b"Bearer token"), (b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/chat/completions",
        "raw_path": b"/v1/chat/completions",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }

    def run(data: bytes) -> None:
        body = data.replace(b"KB", kb.encode())
        told: list[Any] = []
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            found = next(given, None)
            return found if found is not None else await asyncio.sleep(3600)

        async def send(message: Any) -> None:
            told.append(message)

        asyncio.run_coroutine_threadsafe(server({**scope}, receive, send), loop).result()
        expect(told[0]["status"] != 500, f"the server fails: {told[1]['body'][:300]!r}")
        if b"text/event-stream" not in str(told[0]["headers"]).encode():
            json.loads(b"".join(part.get("body", b"") for part in told[1:]))

    return run


_SSE = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    b'{"role":"assistant","content":"Ho"},"finish_reason":null}]}\n\n'
    b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"la"},"finish_reason":"stop"}],"usage":'
    b'{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
)
_REPLY = (
    b'\x00\x00{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hola"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}'
)
_BODIES = (
    b'{"model":"KB:strict","messages":[{"role":"user","content":"hola"}],"kb_top_k":3,"max_tokens":5,"n":1}',
    b'{"model":"KB:general","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system",'
    b'"content":"x"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b"},'
    b'{"role":"user","content":"c"}]}',
)
_VERDICTS = (
    b'{"verdicts": [{"number": 1, "reason": "x", "verdict": 1}]}',
    b"<think>a</think>```json\n{'statements': ['a', 'b',]}\n```",
    b'{"questions": [{"question": "a", "evidence": "b"}], "unanswerable": ["c"]}',
    b"Score: 0,8 / 1. Puntuacion: 8 de 10",
)
_JSON = ('"', "{", "}", "[", "]", ":", ",", "null", "true", "1e999", "\\u0000", '"\\ud800"', "```json", "<think>", "'")
TARGETS = (
    Target("judge-reply", _judge_reply, _VERDICTS, _JSON, 0.5),
    Target(
        "answer-text",
        _answer,
        (b"Hay 23 d\xc3\xadas [1]. Son 48 euros [1, 2][3].",),
        ("[1]", "[1, 2]", "`", "```", ". ", "- "),
        0.1,
    ),
    Target(
        "stream", _stream, (_SSE,), ("data: ", "\n\n", "event: ", "[DONE]", ": ", '"choices"', "null", '"error"'), 1
    ),
    Target("reply", _reply, (_REPLY,), _JSON, 1),
    Target("failure", _failure, (b'5\x1e{"error": {"message": "m", "details": []}}',), (*_JSON, "quota", "GMT"), 2),
    Target("api-body", _api, _BODIES, (*_JSON, '"role"', '"content"', '"kb_top_k"', '"messages"'), 2),
)
