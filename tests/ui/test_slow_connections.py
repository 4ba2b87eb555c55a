"""Connections to the pages that send nothing, or not enough, are closed; browsers are not."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from chatbot_mvp.server import connections
from streamlit_app.web.connections import PageConnection, bound_connections
from tests.loopback import free_port
from tests.ui.test_start_of_pages import first_page, needs_proc, pages
from tests.waiting import SOON_S, wait_until

BEGUN = (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"GET /_stcore/stream HTTP/1.1\r\nUpgrade: websocket\r\n")


def slow_sockets(port: int, count: int, stack: contextlib.ExitStack) -> list[socket.socket]:
    slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(count)]
    for row, each in enumerate(slow):
        with contextlib.suppress(OSError):  # already closed, to make room
            each.sendall(BEGUN[row % len(BEGUN)])
    return slow


def seconds_until_closed(slow: list[socket.socket], most: float) -> float:
    """How long it took; ``TimeoutError`` after ``most`` seconds."""
    started = time.monotonic()
    for each in slow:
        each.settimeout(max(0.1, started + most - time.monotonic()))
        with contextlib.suppress(ConnectionError):
            while each.recv(4096):
                pass
    return time.monotonic() - started


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Port of a small server that uvicorn starts as Streamlit lets it."""
    monkeypatch.setattr(connections, "RECEIVE_SECONDS", 0.5)
    monkeypatch.setattr(uvicorn.config, "HTTP_PROTOCOLS", dict(uvicorn.config.HTTP_PROTOCOLS))
    bound_connections()

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())

    async def size(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    app = Starlette(routes=[Route("/", size, methods=["GET", "POST"]), WebSocketRoute("/ws", echo)])
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, ws="websockets-sansio", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started, 10, "the server")
    yield port
    server.should_exit = True
    thread.join(10)


def test_slow_connections_are_closed_and_others_are_served_meanwhile(port: int) -> None:
    with contextlib.ExitStack() as stack:
        slow = slow_sockets(port, 60, stack)
        assert httpx.get(f"http://127.0.0.1:{port}/").text == "0"
        seconds_until_closed(slow, SOON_S)


def test_a_connection_makes_room_for_a_new_one(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "RECEIVE_SECONDS", 60.0)
    monkeypatch.setattr(PageConnection, "limit", 20)
    with contextlib.ExitStack() as stack:
        slow = slow_sockets(port, 40, stack)
        assert httpx.get(f"http://127.0.0.1:{port}/").text == "0"
        wait_until(lambda: sum(is_closed(each) for each in slow) >= 20, 10, "the end of twenty of them")


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        while connection.recv(4096):  # why it is closed
            pass
        return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.slow
def test_a_websocket_stays_open_and_a_file_may_take_its_time(port: int) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(8):
            time.sleep(0.2)
            yield b"a" * 1_000

    with connect(f"ws://127.0.0.1:{port}/ws") as session:
        assert httpx.post(f"http://127.0.0.1:{port}/", content=pieces()).text == "8000"
        session.send("still here")
        assert session.recv() == "still here"


def test_a_file_that_stops_half_way_is_given_up(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as stalled:
        stalled.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc")
        seconds_until_closed([stalled], SOON_S)


@needs_proc
@pytest.mark.slow
def test_the_started_pages_close_three_hundred_slow_connections(tmp_path: Path) -> None:
    command: Any = ("-m", "streamlit_app", "--server.port", "PORT")
    with pages(tmp_path, "/", *command) as started, contextlib.ExitStack() as stack:
        slow = slow_sockets(started.port, 300, stack)
        with urllib.request.urlopen(f"http://127.0.0.1:{started.port}/_stcore/health", timeout=2) as reply:
            assert reply.status == 200
        _, shown = first_page(started.port, f"localhost:{started.port}")
        assert "Cotejo" in shown
        seconds_until_closed(slow, connections.RECEIVE_SECONDS + SOON_S)
