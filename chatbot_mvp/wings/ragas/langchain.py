"""Use models of LangChain, or ones wrapped for ragas, as ``ChatModel`` and ``Embedder``. LangChain is not needed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.errors import ProviderUnavailable
from chatbot_mvp.llm.base import (
    ChatModel,
    ChatRequest,
    ChatStream,
    Completion,
    FinishedStream,
    Message,
    Usage,
    plain_prompt,
)

_CHAT_CLASS = "BaseChatModel"
"""LangChain's class of the models that take messages. All others take a text."""
_ROLES = {"system": "system", "user": "human", "assistant": "ai"}
_MODEL_NAMES = ("model_name", "model_id", "model", "repo_id")
_EMBEDDER_NAMES = ("model_name", "model", "model_id", "repo_id")
"""Attributes in which objects of LangChain have the name of their model, the first that is a text."""


class Invokable(Protocol):
    """What is needed of a LangChain model: HuggingFacePipeline, ChatOpenAI, or anything else with ``invoke``."""

    def invoke(self, input: Any, /) -> Any:
        """Return the reply to a text or to messages: a text, or an object with ``content``."""


def as_chat_model(model: ChatModel | Invokable | Any) -> ChatModel:
    """Return a model as a ``ChatModel``.

    Args:
        model: a ``ChatModel``, which is returned as it is; a LangChain model; or ragas' ``LangchainLLMWrapper``.

    Raises:
        TypeError: it is none of these.
    """
    if hasattr(model, "complete") and hasattr(model, "needs_evidence"):
        return cast("ChatModel", model)
    wrapped = getattr(model, "langchain_llm", model)
    if not callable(getattr(wrapped, "invoke", None)):
        raise TypeError(f"{type(model).__name__} cannot judge: hand over a ChatModel or an object with 'invoke'")
    return LangChainModel(wrapped)


class LangChainModel:
    """A ``ChatModel`` over an object with ``invoke``.

    Temperature, token limit and seed are those of the object, not of the request. A model that takes a text, such as a
    pipeline in this process, gets one request at a time.
    """

    needs_evidence = False

    def __init__(self, model: Invokable) -> None:
        self._model = model
        self._takes_messages = any(parent.__name__ == _CHAT_CLASS for parent in type(model).__mro__)
        self._one_at_a_time = nullcontext() if self._takes_messages else threading.Lock()
        name = _named(model, _MODEL_NAMES)
        self.name = f"langchain/{Path(name).name if Path(name).is_absolute() else name}"

    def complete(self, request: ChatRequest) -> Completion:
        """Answer a request.

        Raises:
            ProviderUnavailable: the object raised an exception.
        """
        started = time.perf_counter()
        try:
            with self._one_at_a_time:
                reply = self._model.invoke(self._input(request.messages))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            raise ProviderUnavailable(
                provider="langchain", model=self.name, address="this process", tries=1, reason=reason
            ) from error
        return Completion(_text(reply), self.name, time.perf_counter() - started, "stop", _usage(reply))

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))

    def _input(self, messages: tuple[Message, ...]) -> Any:
        if self._takes_messages:
            return [(_ROLES[message.role], message.content) for message in messages]
        return plain_prompt(messages)


def _text(reply: Any) -> str:
    content = getattr(reply, "content", reply)
    if isinstance(content, list):
        parts = (part.get("text", "") if isinstance(part, Mapping) else str(part) for part in content)
        return "".join(str(part) for part in parts)
    return str(content)


def _usage(reply: Any) -> Usage:
    found = getattr(reply, "usage_metadata", None)
    if not isinstance(found, Mapping):
        return Usage()
    return Usage(found.get("input_tokens"), found.get("output_tokens"))


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
        name = _named(model, _EMBEDDER_NAMES)
        if Path(name).is_absolute():  # two folders of one name are told apart by their paths
            name = f"{Path(name).name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        self.model_id = f"langchain/{name}"
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


def _named(model: Any, attributes: Iterable[str]) -> str:
    """Return the name of an object's model, which may be the path of a folder; else the name of its class."""
    given = (getattr(model, name, None) for name in attributes)
    return next((name for name in given if isinstance(name, str) and name), type(model).__name__)
