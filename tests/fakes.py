"""Fakes of our own protocols, and short ways to small inputs. Everything else in the tests is the real thing."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio
import numpy as np

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion
from chatbot_mvp.llm.streams import FinishedStream
from chatbot_mvp.retrieval.language_model import LanguageModel
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

T = TypeVar("T")


class FakeEmbedder:
    """An ``Embedder``: hashed bags of words as unit vectors, the same in every process. Counts what it is asked."""

    def __init__(self, dimensions: int = 64, model_id: str = "fake/bag-of-words") -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.batches: list[tuple[InputType, list[str]]] = []
        """Each call: its input type and its texts."""
        self._analyzer = Analyzer("es")

    @property
    def embedded(self) -> list[str]:
        """Every text that was embedded, in order, repetitions included."""
        return [text for _, texts in self.batches for text in texts]

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        self.batches.append((input_type, list(texts)))
        return np.array([self.vector(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dimensions)

    def vector(self, text: str) -> Vectors:
        """What ``embed`` gives for one text."""
        vector = np.zeros(self.dimensions, dtype=np.float64)
        for term in self._analyzer.terms(text):
            digest = hashlib.blake2b(term.encode()).digest()
            vector[digest[0] % self.dimensions] += 1.0 if digest[1] % 2 else -1.0
        if not vector.any():
            vector[0] = 1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class FakeChatModel:
    """A ``ChatModel`` with a fixed reply. Keeps the requests it got."""

    name = "fake"

    def __init__(self, reply: str, needs_evidence: bool = False) -> None:
        self.reply = reply
        self.needs_evidence = needs_evidence
        self.requests: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        return Completion(self.reply, self.name, 0.0)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


class FakeLanguageModel:
    """What stands behind a ``LanguageModel``: a rule from prompt to reply. Keeps the prompts it got."""

    def __init__(self, reply: Callable[[str], str] = lambda prompt: f"Contexto de {len(prompt)} caracteres.") -> None:
        self.prompts: list[str] = []
        self._reply = reply

    def ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._reply(prompt)

    @property
    def model(self) -> LanguageModel:
        return LanguageModel("fake", self.ask)


def run_in_loop(main: Callable[[], Awaitable[T]]) -> T:
    """What a coroutine gives, run in an event loop of its own thread: the browser driver keeps one in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, main).result()


def chunks_of(*texts: str) -> list[Chunk]:
    """One chunk per text, ids c000, c001, …, each from its own document."""
    return [Chunk(f"c{row:03d}", f"c{row:03d}", "", text, 0, len(text)) for row, text in enumerate(texts)]
