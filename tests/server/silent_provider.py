"""A provider that accepts requests and never answers, as a model does that is still reading a long prompt."""

from __future__ import annotations

import select
import socket
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

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
        select.select([self.connection], [], [], 60)
        if self.connection.recv(1, socket.MSG_PEEK) == b"":
            with self.server.lock:
                self.server.left += 1
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""
