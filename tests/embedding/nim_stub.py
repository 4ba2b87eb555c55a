"""A loopback server that speaks NIM's ``/v1/embeddings`` and ``/v1/models`` and refuses what NIM refuses."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.llm.http_stub import Request, Response, StubServer

MODEL = "nvidia/llama-3.2-nv-embedqa-1b-v2"
MOST_TEXTS = 8
DIMENSIONS = 6


class NimEmbeddingStub(StubServer):
    """A text's vector depends on text and input type; of no particular length."""

    def __init__(self, asymmetric: bool = True, key: str = "") -> None:
        super().__init__()
        self.asymmetric = asymmetric
        self.key = key
        self.poison = ""
        """A text that cannot be embedded."""
        self.dimensions = DIMENSIONS

    @property
    def batches(self) -> list[list[str]]:
        """The texts of each request, refused ones too."""
        return [request.json["input"] for request in self.requests if request.method == "POST"]

    def answer(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return Response.json({"detail": "invalid key"}, 401)
        if (request.method, request.path) == ("GET", "/v1/models"):
            return Response.json({"object": "list", "data": [{"id": MODEL, "max_model_len": 4_096}, {"id": "other"}]})
        if request.path != "/v1/embeddings":
            return Response.json({"detail": "no such route"}, 404)
        body = request.json
        if reason := self._refusal(body):
            return Response.json({"object": "error", "message": reason, "type": "BadRequestError"}, 400)
        if body["model"] != MODEL:
            return Response.json({"detail": f"unknown model {body['model']}"}, 404)
        vectors = [self.vector(text, body.get("input_type", "")) for text in body["input"]]
        data = [{"object": "embedding", "index": row, "embedding": vector} for row, vector in enumerate(vectors)]
        return Response.json({"object": "list", "model": MODEL, "data": data[::-1]})

    def vector(self, text: str, input_type: str) -> list[float]:
        """What it gives for a text."""
        digest = hashlib.sha256(f"{input_type}|{text}".encode()).digest()
        return [byte - 127.5 for byte in digest[: self.dimensions]]

    def _refusal(self, body: dict[str, Any]) -> str:
        """Why NIM would answer 400; "" if it would not."""
        asked = {"model", "input", "encoding_format", "input_type", "truncate"}
        if extra := set(body) - (asked if self.asymmetric else asked - {"input_type", "truncate"}):
            return f"extra fields not permitted: {sorted(extra)}"
        if self.asymmetric and body.get("input_type") not in ("query", "passage"):
            return "'input_type' parameter is required"
        if not 1 <= len(body["input"]) <= MOST_TEXTS:
            return f"batch size {len(body['input'])} is over the limit of {MOST_TEXTS}"
        if any(not text.strip() for text in body["input"]):
            return "input must not be empty"
        return "cannot be tokenised" if self.poison and self.poison in body["input"] else ""
