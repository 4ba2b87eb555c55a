"""The Embedder protocol and the registry of embedding models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.settings import LOCAL_EMBEDDER

InputType = Literal["query", "passage"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their similarity."""

    @property
    def model_id(self) -> str:
        """Names model and weights; vectors of different ids must not be compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Embed texts; shape (len(texts), dimensions), float32, each row of length 1. Safe to call from threads."""


def _local_e5() -> Embedder:
    from chatbot_mvp.embedding.local import LocalE5

    return LocalE5()


EMBEDDERS: dict[str, Callable[[], Embedder]] = {LOCAL_EMBEDDER: _local_e5}
"""Name of the setting ``EMBEDDING_MODEL_NAME`` -> factory. A factory imports its package when it is called."""


def create_embedder(name: str) -> Embedder:
    """
    Raises:
        UnknownChoice: no such model in the registry.
        MissingPackage: the model's package is not installed.
    """
    if name not in EMBEDDERS:
        raise UnknownChoice(kind="embedding model", found=name, legal=", ".join(EMBEDDERS))
    return EMBEDDERS[name]()
