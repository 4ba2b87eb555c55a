"""A provider that accepts requests and never answers, as a model does that is still reading a long prompt."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.loopback import LoopbackServer


class SilentProvider(LoopbackServer):
    """Counts the requests that came, and those whose client closed the connection."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.lock = threading.Lock()
        self.came = 0
        self.left = 0

    @property
    def waiting(self) -> int:
        return self.came - self.left


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SilentProvider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.came += 1
        self.connection.settimeout(60)
        with suppress(OSError):  # reset, or closed in the middle of TLS
            assert self.connection.recv(1) == b"", "the client left, and sent nothing more"
        with self.server.lock:
            self.server.left += 1
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def silent() -> Iterator[SilentProvider]:
    with SilentProvider() as server:
        yield server
