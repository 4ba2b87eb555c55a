"""Embeds texts with an OpenAI-compatible ``/v1/embeddings``: NVIDIA NIM, OpenAI or another server."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors, unit_vectors
from chatbot_mvp.errors import ProviderBadRequest, ProviderReplyUnusable, ProviderUnavailable
from chatbot_mvp.remote.http import JsonEndpoint


class RemoteEmbedder:
    """Embedder behind an endpoint. Normalises its vectors to length 1."""

    def __init__(self, endpoint: JsonEndpoint, asymmetric: bool, batch_size: int) -> None:
        """
        Args:
            endpoint: where requests go.
            asymmetric: send ``input_type`` (query or passage), as NIM requires.
            batch_size: texts per request.
        """
        self._endpoint = endpoint
        self._asymmetric = asymmetric
        self.batch_size = batch_size
        self._dimensions = 0
        self._lock = threading.Lock()
        model = endpoint.calls.endpoint.model
        self.model_id = f"{model}@{'asymmetric' if asymmetric else 'symmetric'}"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector. The first access sends a request.

        Raises:
            ProviderError: the request failed.
        """
        if not self._dimensions:
            self._ask(["?"], "query")
        return self._dimensions

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Embed texts, as in ``Embedder``. If a batch fails, its texts are sent one by one.

        Raises:
            ProviderError: a text cannot be embedded even on its own.
        """
        parts = [
            self._batch(texts[begin : begin + self.batch_size], input_type)
            for begin in range(0, len(texts), self.batch_size)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), dtype=np.float32)

    def _batch(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        try:
            return self._ask(texts, input_type)
        except (ProviderBadRequest, ProviderUnavailable, ProviderReplyUnusable):
            # Retries are already over, so the size of the batch or one of its texts is the reason.
            if len(texts) == 1:
                raise
        return np.concatenate([self._ask([text], input_type) for text in texts])

    def _ask(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        payload: dict[str, Any] = {
            "model": self._endpoint.calls.endpoint.model,
            # Servers refuse a whole batch for one empty text; a lone surrogate cannot be encoded in UTF-8.
            "input": [text.encode("utf-8", "replace").decode() if text.strip() else "-" for text in texts],
            "encoding_format": "float",
        }
        if self._asymmetric:
            payload |= {"input_type": input_type, "truncate": "END"}
        answer = self._endpoint.post("embeddings", payload)
        try:
            rows = {row["index"]: row["embedding"] for row in answer["data"]}
            vectors = np.array([rows[index] for index in range(len(texts))], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            self._endpoint.unusable(f"it does not have a vector for each of {len(texts)} texts ({error!r})", error)
        self._check(vectors)
        return unit_vectors(vectors)

    def _check(self, vectors: Vectors) -> None:
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            self._endpoint.unusable("its vectors are not rows of finite numbers")
        with self._lock:
            self._dimensions = self._dimensions or vectors.shape[1]
        if vectors.shape[1] != self._dimensions:
            self._endpoint.unusable(f"its vectors have {vectors.shape[1]} dimensions, earlier ones {self._dimensions}")
