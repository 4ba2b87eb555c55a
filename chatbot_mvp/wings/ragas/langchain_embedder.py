"""Use an embedding model of LangChain, or one wrapped for ragas, as an ``Embedder``. LangChain itself is not needed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors

_NAMES = ("model_name", "model", "model_id", "repo_id")


class EmbedsDocuments(Protocol):
    """What is needed of a LangChain embedding model: HuggingFaceEmbeddings, or anything else with these two."""

    def embed_documents(self, texts: list[str], /) -> list[list[float]]: ...

    def embed_query(self, text: str, /) -> list[float]: ...


def as_embedder(model: Embedder | EmbedsDocuments | Any) -> Embedder:
    """Return a model as an ``Embedder``.

    Args:
        model: an ``Embedder``, which is returned as it is; a LangChain embedding model; or ragas'
            ``LangchainEmbeddingsWrapper``.

    Raises:
        TypeError: it is none of these.
    """
    if hasattr(model, "embed") and hasattr(model, "model_id"):
        return cast("Embedder", model)
    wrapped = getattr(model, "embeddings", model)
    if not callable(getattr(wrapped, "embed_documents", None)):
        raise TypeError(
            f"{type(model).__name__} cannot embed: hand over an Embedder or an object with 'embed_documents'"
        )
    return LangChainEmbedder(wrapped)


class LangChainEmbedder:
    """An ``Embedder`` over an object with ``embed_documents`` and ``embed_query``. Its vectors are normalized."""

    batch_size = None

    def __init__(self, model: EmbedsDocuments) -> None:
        self._model = model
        self._lock = threading.Lock()
        self.model_id = _name(model)
        self.dimensions = len(model.embed_query("?"))

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with self._lock:
            if input_type == "query":
                found = [self._model.embed_query(text) for text in texts]
            else:
                found = self._model.embed_documents(list(texts))
        vectors = np.array(found, dtype=np.float32)
        normalized: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return normalized


def _name(model: Any) -> str:
    """Return a name of the model: of a folder its last part and a hash of its path, which tells two folders apart."""
    given = (getattr(model, name, None) for name in _NAMES)
    name = next((name for name in given if isinstance(name, str) and name), type(model).__name__)
    if Path(name).is_absolute():
        name = f"{Path(name).name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"langchain/{name}"
