"""The registry of embedding models."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.settings import LOCAL_EMBEDDER


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
