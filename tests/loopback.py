"""A real HTTP server on loopback for as long as a block lasts; what it answers is its subclasses' matter."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nothing listens on, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on."""
    return free_ports(1)[0]


class LoopbackServer(ThreadingHTTPServer):
    """Serves in a thread of its own from ``with`` to the end of the block."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Send every piece at once: TCP would hold back a second small one until the first is acknowledged, 40 ms."""
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join(5)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of what is tested."""
