"""The server of `chatbot-mvp serve` on loopback, as the command starts it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.server.run import server_for
from tests.loopback import free_port
from tests.waiting import wait_until

TOKEN = "prueba-de-un-token"


@contextmanager
def running(app: App) -> Iterator[str]:
    """Serve ``app`` for as long as the block lasts, and give the base address of its API."""
    port = free_port()
    server = server_for(app, TOKEN, "127.0.0.1", port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, 20, "the server")
    yield f"http://127.0.0.1:{port}/v1"
    server.should_exit = True
    thread.join(10)


def user(text: str) -> Any:
    """The messages of a conversation that begins with this question."""
    return [{"role": "user", "content": text}]
