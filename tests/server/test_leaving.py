"""Clients that leave, that send slowly, that read slowly or that are too many hold up nobody else."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import httpx
import openai
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.server import connections, run
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE
from tests.fakes import FakeEmbedder, fake_app
from tests.loopback import free_port
from tests.server.serving import TOKEN, client_of, running, user
from tests.server.silent_provider import SilentProvider
from tests.waiting import SOON_S, wait_until

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
LEAVING = 45
"""More than the 40 threads of the event loop's pool."""


def app_with(settings: Settings, **changes: Any) -> tuple[App, str]:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL", **changes), embedder=lambda _: FakeEmbedder())
    return app, app.kbs.add("manual.md", SOURCE.encode()).kb_id


def app_of(settings: Settings, provider: SilentProvider, **changes: Any) -> tuple[App, str]:
    return app_with(
        settings,
        provider="openai",
        openai_api_key="k",
        openai_base_url=provider.url,
        nim_max_concurrent_requests=64,
        llm_cache_enabled=False,
        **changes,
    )


@contextlib.contextmanager
def posted(url: str, body: dict[str, Any]) -> Iterator[socket.socket]:
    """A connection that has sent a whole request and reads nothing."""
    raw, address = json.dumps(body).encode(), urlsplit(url)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as connection:
        connection.sendall(head.encode() + raw)
        yield connection


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_leaves_before_the_first_token_stops_the_model(
    settings: Settings, silent: SilentProvider, streamed: bool
) -> None:
    app, kb_id = app_of(settings, silent)
    with running(app) as url:
        with posted(url, {"model": f"{kb_id}:strict", "messages": user(INSIDE), "stream": streamed}):
            wait_until(lambda: silent.came == 1, 10, "the request to the provider")
        wait_until(lambda: silent.left == 1, SOON_S, "the provider to hear that nobody waits")


@pytest.mark.slow
def test_work_of_clients_who_have_left_is_bounded_while_it_cannot_be_stopped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search, or an index that is built, goes on without its client; it counts until it has ended."""
    app, kb_id = app_with(settings, serve_max_connections=3)
    gate, stream = threading.Event(), app.answering.stream

    def slow(*args: Any, **options: Any) -> Any:
        assert gate.wait(30)
        return stream(*args, **options)

    monkeypatch.setattr(app.answering, "stream", slow)
    body = {"model": f"{kb_id}:strict", "messages": user(INSIDE), "stream": True}

    def working() -> int:
        return sum(thread.name == "answer" for thread in threading.enumerate())

    with running(app) as url:
        for _ in range(12):
            with posted(url, body):
                time.sleep(0.1)
        assert working() == 3
        refused = httpx.post(f"{url}/chat/completions", json=body, headers=HEADERS, timeout=20)
        assert refused.status_code == 503
        assert "3 answers, its limit (SERVE_MAX_CONNECTIONS)" in refused.json()["error"]["message"]
        gate.set()
        wait_until(lambda: working() == 0, 20, "the end of the work")
        told = httpx.post(f"{url}/chat/completions", json={**body, "stream": False}, headers=HEADERS, timeout=20)
        assert told.status_code == 200


def test_the_official_client_that_times_out_stops_the_model(settings: Settings, silent: SilentProvider) -> None:
    app, kb_id = app_of(settings, silent)
    with running(app) as url:
        client = client_of(url, 0.3)
        with pytest.raises(openai.APITimeoutError):
            list(client.chat.completions.create(model=f"{kb_id}:strict", messages=user(INSIDE), stream=True))
        wait_until(lambda: (silent.came, silent.left) == (1, 1), SOON_S, "the provider to hear that nobody waits")


def test_the_server_stops_without_waiting_for_an_answer_that_hangs(
    settings: Settings, silent: SilentProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_LAST_WORDS_S", 0.2)
    app, kb_id = app_of(settings, silent)
    with contextlib.ExitStack() as stack:
        with running(app) as url:
            stack.enter_context(posted(url, {"model": f"{kb_id}:strict", "messages": user(INSIDE), "stream": True}))
            wait_until(lambda: silent.came == 1, 10, "the request to the provider")
            started = time.monotonic()
        assert time.monotonic() - started < SOON_S
        wait_until(lambda: silent.left == 1, SOON_S, "the provider to hear that nobody waits")


@pytest.mark.slow
def test_many_streams_without_a_first_token_hold_up_nobody(settings: Settings, silent: SilentProvider) -> None:
    app, kb_id = app_of(settings, silent)
    with running(app) as url, contextlib.ExitStack() as stack:
        for _ in range(LEAVING):
            stack.enter_context(posted(url, {"model": f"{kb_id}:strict", "messages": user(INSIDE), "stream": True}))
        wait_until(lambda: silent.came == LEAVING, 20, "all requests to the provider")
        # Nothing about it is in the document, so no model is asked.
        reply = httpx.post(
            f"{url}/chat/completions",
            json={"model": f"{kb_id}:strict", "messages": user(OUTSIDE), "kb_doubt_evidence": 1.0},
            headers=HEADERS,
            timeout=SOON_S,
        )
        assert reply.json()["outcome"] != "answered"
        assert httpx.get(f"{url}/models", headers=HEADERS, timeout=SOON_S).status_code == 200
        stack.close()
        wait_until(lambda: silent.left == LEAVING, 10, "the provider to hear of all that left")
        assert not [t for t in threading.enumerate() if t.name == "answer" and wait_ended(t)]


def wait_ended(thread: threading.Thread) -> bool:
    """Whether it still runs after a moment."""
    thread.join(2)
    return thread.is_alive()


@pytest.mark.slow
def test_a_request_that_does_not_arrive_is_given_up_and_others_are_served_meanwhile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "RECEIVE_SECONDS", 0.5)
    app, _ = app_with(settings, serve_max_connections=50)
    begun = [
        b"",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer "
        + TOKEN.encode()
        + b"\r\n\r\n{",
    ]
    with running(app) as url, contextlib.ExitStack() as stack:
        address = urlsplit(url)
        slow = [stack.enter_context(socket.create_connection((address.hostname, address.port))) for _ in range(300)]
        for row, each in enumerate(slow):
            with contextlib.suppress(OSError):  # already closed, to make room
                each.sendall(begun[row % len(begun)])
        assert httpx.get(f"{url}/models", headers=HEADERS, timeout=SOON_S).status_code == 200
        for each in slow:
            each.settimeout(SOON_S)
            with contextlib.suppress(ConnectionError):
                while each.recv(4096):
                    pass


class _Clock:
    """A loop whose time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Mock] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> Mock:
        self.timers.append(Mock(at=self.now + seconds, call=call))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None]) -> Mock:
        work.close()
        return Mock()

    def passes(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.at <= self.now]
        self.timers = [timer for timer in self.timers if timer.at > self.now]
        for timer in due:
            if not timer.cancel.called:
                timer.call()


def test_a_body_may_take_long_but_not_be_silent_and_silence_is_answered() -> None:
    clock, sent = _Clock(), bytearray()
    config = uvicorn.Config(PlainTextResponse("ok"), http=connections.connection_with(2))
    config.load()
    transport = Mock(write=sent.extend, is_closing=lambda: False, get_extra_info=lambda _: None)
    one = connections.connection_with(2)(config, ServerState(), {}, _loop=clock)
    one.connection_made(transport)
    one.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        clock.passes(connections.RECEIVE_SECONDS - 1)
        one.data_received(b"a")
    assert not sent and not transport.close.called
    assert one.waiting_since == clock.now
    clock.passes(connections.RECEIVE_SECONDS + 1)
    assert sent.startswith(b"HTTP/1.1 408 ")
    assert json.loads(sent.partition(b"\r\n\r\n")[2])["error"]["code"] == "request_timeout"
    assert transport.close.called
    assert one.cycle.disconnected


@pytest.mark.parametrize(
    ("begun", "status"),
    [
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\nAuthorization: "
            b"Bearer " + TOKEN.encode() + b"\r\nContent-Length: 100\r\n\r\n--x",
            b"HTTP/1.1 408 ",
        ),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"HTTP/1.1 408 "),
        (b"", b""),
    ],
)
def test_a_request_that_stops_half_way_has_a_reply(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, begun: bytes, status: bytes
) -> None:
    monkeypatch.setattr(connections, "RECEIVE_SECONDS", 0.3)
    app, _ = app_with(settings)
    with running(app) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), SOON_S) as stalled:
            stalled.sendall(begun.replace(b"POST /", b"POST /v1/knowledge_bases"))
            received = b""
            with contextlib.suppress(ConnectionError):
                while part := stalled.recv(4096):
                    received += part
    assert received[: len(b"HTTP/1.1 408 ")] == status


def test_a_byte_now_and_then_does_not_keep_a_connection(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "RECEIVE_SECONDS", 0.5)
    app, _ = app_with(settings)
    with running(app) as url:
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port)) as dripping:
            dripping.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in dripping.recv(4096)
            dripping.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
            with pytest.raises(OSError):
                for _ in range(600):
                    dripping.sendall(b"a")
                    time.sleep(0.05)


def test_a_request_beyond_the_limit_of_connections_gets_503_and_why(settings: Settings, silent: SilentProvider) -> None:
    app, kb_id = app_of(settings, silent, serve_max_connections=3)
    with running(app) as url, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(posted(url, {"model": f"{kb_id}:strict", "messages": user(INSIDE), "stream": True}))
        wait_until(lambda: silent.came == 3, 10, "three answers under way")
        client = client_of(url, 10)
        with pytest.raises(openai.InternalServerError) as refused:
            client.chat.completions.create(model=f"{kb_id}:strict", messages=user(INSIDE))
        assert (refused.value.status_code, refused.value.code) == (503, "too_many_connections")
        assert refused.value.response.headers["retry-after"] == "1"
        assert "SERVE_MAX_CONNECTIONS" in refused.value.body["message"]
        stack.close()
        wait_until(lambda: silent.left == 3, 5, "the places to be free")
        assert client.models.list().data


def test_a_reader_that_stops_reading_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.3)
    length = 20_000_000
    port = free_port()
    big = PlainTextResponse("a" * length)
    config = uvicorn.Config(big, "127.0.0.1", port, http=connections.connection_with(10), log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, 10, "the server")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: server.server_state.connections, 5, "the connection")
        wait_until(lambda: not server.server_state.connections, 3, "the server to give it up")
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(1_000_000):
                received += len(part)
        assert received < length
    server.should_exit = True
    thread.join(5)


def test_the_words_of_a_stream_come_as_the_model_writes_them(settings: Settings) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), chat_model=DemoModel)
    kb_id = app.kbs.add("manual.md", SOURCE.encode()).kb_id
    with running(app) as url:
        client = client_of(url, 10)
        chunks = list(client.chat.completions.create(model=f"{kb_id}:strict", messages=user(INSIDE), stream=True))
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) > 3
