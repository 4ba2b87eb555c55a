"""Real sockets with faults: a small HTTP server that answers by itself or passes on, and misbehaves when told to."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import LoopbackServer


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Response:
    """What it gets."""

    status: int = 200
    pieces: Iterable[bytes] = ()
    """Sent as chunks, one by one."""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})

    @classmethod
    def json(cls, value: Any, status: int = 200, **headers: str) -> Response:
        said = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(status, [json.dumps(value).encode()], {"Content-Type": "application/json", **said})


@dataclass(frozen=True)
class Fault:
    """How one request goes wrong."""

    response: Response | None = None
    """Given in place of the true one."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    cut_after: int | None = None
    """The connection is reset after so many pieces of the true answer; 0: before its headers."""


class StubServer(LoopbackServer):
    """Each request meets the next of ``faults``, if there is one. Subclasses give ``answer``."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.faults: deque[Fault] = deque()
        self.requests: list[Request] = []
        """All that came, in order."""
        self.times: list[float] = []
        """When they came, on the monotonic clock."""
        self.left_early = threading.Event()
        """Set when a client went away in the middle of an answer."""
        self.piece_delay = 0.0
        """Seconds between two pieces."""

    def answer(self, request: Request) -> Response:
        raise NotImplementedError

    def reset(self) -> None:
        """Forget faults and requests."""
        self.faults.clear()
        self.requests.clear()
        self.times.clear()
        self.left_early.clear()
        self.piece_delay = 0.0


class Proxy(StubServer):
    """Passes requests on to a server that speaks OpenAI's protocol, and asks for a key that this one need not know."""

    def __init__(self, upstream: str, upstream_key: str, key: str) -> None:
        super().__init__()
        self._upstream = upstream.removeprefix("http://").removesuffix("/v1")
        self._upstream_key = upstream_key
        self.key = key

    def answer(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            # As OpenAI does, it repeats what it was sent.
            error = {
                "message": f"Incorrect API key provided: {request.headers.get('authorization')}",
                "code": "invalid_api_key",
            }
            return Response.json({"error": error}, 401)
        connection = http.client.HTTPConnection(self._upstream, timeout=60)
        # groq's SDK has a path of its own.
        path = request.path.removeprefix("/openai")
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._upstream_key}"}
        connection.request(request.method, path, request.body or None, headers)
        answer = connection.getresponse()

        def pieces() -> Iterable[bytes]:
            try:
                while piece := answer.read1():
                    yield piece
            finally:
                connection.close()

        return Response(answer.status, pieces(), {"Content-Type": answer.headers["Content-Type"]})


class GroqProxy(Proxy):
    """Groq's ways: no ``stream_options``, the tokens of a stream in ``x_groq`` of its last chunk."""

    def answer(self, request: Request) -> Response:
        if request.method == "GET" or not request.json.get("stream"):
            return super().answer(request)
        body = request.json
        if "stream_options" in body:
            return Response.json({"error": {"message": "property 'stream_options' is unsupported"}}, 400)
        asked = json.dumps({**body, "stream_options": {"include_usage": True}}).encode()
        response = super().answer(replace(request, body=asked))
        if response.status != 200:
            return response

        def events() -> Iterable[bytes]:
            held = b""
            try:
                for piece in response.pieces:
                    *whole, held = (held + piece).split(b"\n\n")
                    yield from (_in_x_groq(event) + b"\n\n" for event in whole)
            finally:
                response.pieces.close()  # type: ignore[attr-defined]

        return replace(response, pieces=events())


def _in_x_groq(event: bytes) -> bytes:
    if b'"usage"' not in event:
        return event
    chunk = json.loads(event.removeprefix(b"data: "))
    chunk["x_groq"] = {"id": "req_1", "usage": chunk.pop("usage")}
    return b"data: " + json.dumps(chunk).encode()


class _Handler(BaseHTTPRequestHandler):
    server: StubServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self._handle()

    def do_GET(self) -> None:
        self._handle()

    def _handle(self) -> None:
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        server.requests.append(request)
        server.times.append(time.monotonic())
        fault = server.faults.popleft() if server.faults else Fault()
        time.sleep(fault.delay)
        if fault.cut_after == 0:
            return self._cut()
        response = fault.response or server.answer(request)
        try:
            self._send(response, fault.cut_after)
        except (BrokenPipeError, ConnectionResetError):
            server.left_early.set()
            self.close_connection = True
        finally:
            if hasattr(response.pieces, "close"):
                response.pieces.close()
        return None

    def _send(self, response: Response, cut_after: int | None) -> None:
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(response.pieces):
            if number == cut_after:
                return self._cut()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(self.server.piece_delay)
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _cut(self) -> None:
        """End the connection in the middle."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        return


def with_headers(response: Response, **headers: str) -> Response:
    """The response with more headers; ``_`` stands for ``-``."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(response, headers={**response.headers, **more})
