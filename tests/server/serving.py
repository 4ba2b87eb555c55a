"""The server of `chatbot-mvp serve` on loopback, as the command starts it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import openai

from chatbot_mvp.app import App
from chatbot_mvp.server.run import server_for
from tests.chat.conftest import INSIDE
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


def client_of(url: str, timeout: float = 30) -> openai.OpenAI:
    """The official client; it tries each request once. ``timeout`` is in seconds."""
    return openai.OpenAI(base_url=url, api_key=TOKEN, max_retries=0, timeout=timeout)


@dataclass(frozen=True)
class Served:
    """The endpoint over a knowledge base about holidays, as a client sees it."""

    client: openai.OpenAI
    kb_id: str
    app: App
    mode: str = "strict"

    def ask(self, question: str = INSIDE, mode: str = "", **options: Any) -> Any:
        """The reply; with ``stream=True`` the list of its chunks."""
        asked = {"model": f"{self.kb_id}:{mode or self.mode}", "messages": user(question), **options}
        reply = self.client.chat.completions.create(**asked)
        return list(reply) if options.get("stream") else reply


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
