"""A loopback server that speaks NIM's ``/v1/ranking`` and refuses what NIM refuses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import LoopbackServer

MODEL = "nvidia/llama-3.2-nv-rerankqa-1b-v2"
API_KEY = "nvapi-secret"
MOST_PASSAGES = 512


class NimStub(LoopbackServer):
    """Ranks a passage by how many words of the query it has; ``answer_with`` makes it misbehave."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests that were accepted."""
        self.headers: list[dict[str, str]] = []
        self.api_key = ""
        """Asked of every request unless empty."""
        self.answer_with: tuple[int, bytes] | None = None
        """Status and body to give in place of a ranking."""
        self.failures: list[tuple[int, bytes]] = []
        """The same, each for one request only."""
        self.delay = 0.0
        """Seconds before every answer."""

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"


@contextmanager
def nim_stub() -> Iterator[NimStub]:
    with NimStub() as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    server: NimStub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.headers.append(dict(self.headers))
        time.sleep(self.server.delay)
        if self.server.failures:
            return self._send(*self.server.failures.pop(0))
        if self.server.answer_with is not None:
            return self._send(*self.server.answer_with)
        if self.path != "/v1/ranking":
            return self._refuse(404, "no such route")
        if self.server.api_key and self.headers.get("Authorization") != f"Bearer {self.server.api_key}":
            return self._refuse(401, "invalid key")
        payload = json.loads(body)
        if reason := _refusal(payload):
            return self._refuse(422, reason)
        if payload["model"] != MODEL:
            return self._refuse(404, f"unknown model {payload['model']}")
        self.server.requests.append(payload)
        words = set(payload["query"]["text"].lower().split())
        logits = [len(words & set(item["text"].lower().split())) - 3.5 for item in payload["passages"]]
        best_first = sorted(range(len(logits)), key=lambda index: -logits[index])
        rankings = [{"index": index, "logit": logits[index]} for index in best_first]
        return self._send(200, json.dumps({"rankings": rankings}).encode())

    def _refuse(self, status: int, reason: str) -> None:
        self._send(status, json.dumps({"detail": reason}).encode())

    def _send(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # a client that did not wait
            return

    def log_message(self, format: str, *args: object) -> None:
        return


def _refusal(payload: Any) -> str:
    """Why NIM would answer 422; "" if it would not."""
    if set(payload) - {"model", "query", "passages", "truncate"}:
        return "extra fields not permitted"
    if not payload["query"]["text"].strip():
        return "query must not be empty"
    if not 1 <= len(payload["passages"]) <= MOST_PASSAGES:
        return "between 1 and 512 passages"
    return "passage must not be empty" if any(not item["text"].strip() for item in payload["passages"]) else ""
