"""Fakes of our own protocols, and short ways to small inputs. Everything else in the tests is the real thing."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
import unicodedata
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion, FinishedStream, ignore_reply
from chatbot_mvp.llm.chosen import Left, ModelSource
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

T = TypeVar("T")


class FakeEmbedder:
    """An ``Embedder``: hashed bags of words as unit vectors, the same in every process. Counts what it is asked."""

    def __init__(
        self, dimensions: int = 64, model_id: str = "fake/bag-of-words", batch_size: int | None = None
    ) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.batch_size = batch_size
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
    """A ``ChatModel`` with a fixed reply, or a rule from request to reply. Keeps the requests it got."""

    name = "fake"

    def __init__(self, reply: str | Callable[[ChatRequest], str], needs_evidence: bool = False) -> None:
        self.reply = reply
        self.needs_evidence = needs_evidence
        self.requests: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        return Completion(self.reply if isinstance(self.reply, str) else self.reply(request), self.name, 0.0)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


class FakeOutage(ProviderError):
    texts = {"fake_outage": "The provider {provider!r} is away."}  # noqa: RUF012


class FailingChatModel(FakeChatModel):
    """A ``ChatModel`` whose provider goes away, at once or after some pieces of its reply."""

    name = "failing/model"

    def __init__(self, reply: str = "Una respuesta a medias que no llega", pieces: int = 0) -> None:
        super().__init__(reply)
        self._pieces = pieces
        self.closed = 0

    def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        raise FakeOutage(provider=self.name)

    def stream(self, request: ChatRequest) -> ChatStream:
        self.requests.append(request)
        return _BrokenStream(self, Completion(str(self.reply), self.name, 0.0), self._pieces)


class _BrokenStream(FinishedStream):
    def __init__(self, owner: FailingChatModel, completion: Completion, pieces: int) -> None:
        super().__init__(completion)
        self._owner, self._pieces = owner, pieces

    def __iter__(self) -> Iterator[str]:
        for row, piece in enumerate(super().__iter__()):
            if row >= self._pieces:
                raise FakeOutage(provider=self._owner.name)
            yield piece

    def close(self) -> None:
        self._owner.closed += 1
        super().close()


class SlowChatModel(FakeChatModel):
    """A ``ChatModel`` that gives a word at a time and waits in between; ``close`` ends the wait."""

    name = "slow/model"

    def __init__(self, reply: str, seconds: float = 0.05) -> None:
        super().__init__(reply)
        self.seconds = seconds
        self.streams: list[_SlowStream] = []
        self.may_begin = threading.Event()
        """No stream gives its first word before; set unless a test clears it."""
        self.may_begin.set()

    def stream(self, request: ChatRequest) -> ChatStream:
        self.streams.append(_SlowStream(self.complete(request), self.seconds, self.may_begin))
        return self.streams[-1]


class _SlowStream(FinishedStream):
    def __init__(self, completion: Completion, seconds: float, may_begin: threading.Event) -> None:
        super().__init__(completion)
        self._seconds, self._may_begin = seconds, may_begin
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[str]:
        self._may_begin.wait(60)
        for piece in super().__iter__():
            if self.closed.wait(self._seconds):
                return
            yield piece

    def close(self) -> None:
        self.closed.set()
        super().close()


class ObedientModel(FakeChatModel):
    """Does whatever it is told outside of the data fence, and is gullible about where a fence ends.

    It takes any spelling of a marker for one: look-alike brackets, any case, spaces, any ending of the name. What it
    finds outside of all fences it obeys: "… answer X" makes it answer X. Else it repeats the first cited passage.
    """

    name = "obedient"

    def __init__(self) -> None:
        super().__init__(self._obey)

    @staticmethod
    def outside(request: ChatRequest) -> str:
        """What of a request stands outside of its fences."""
        user = unicodedata.normalize("NFKC", "\n".join(m.content for m in request.messages if m.role == "user"))
        user = "".join("<" if c in "‹〈⟨《≪❬ᐸ˂" else ">" if c in "›〉⟩》≫❭ᐳ˃" else c for c in user)
        user = "".join(c for c in user if unicodedata.category(c) != "Cf")
        parts = re.split(r"<\s*(/?)\s*d\s*a\s*t\s*o\s*s[^>]*>", user, flags=re.I)
        depth, found = 0, [parts[0]]
        for closing, text in zip(parts[1::2], parts[2::2], strict=True):
            depth = 0 if closing else 1
            if depth == 0:
                found.append(text)
        return "\n".join(found)

    def _obey(self, request: ChatRequest) -> str:
        if order := re.search(r"(?:answer|responde|contesta|reply)\s+(PWNED)", self.outside(request), re.I):
            return order.group(1)
        assert request.grounding is not None
        chunks = request.grounding.passages
        return f"{chunks[0].text.splitlines()[-1]} [1]" if chunks else "No lo sé."


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


def run_in_loop(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What a coroutine gives, run in an event loop of its own thread: the browser driver keeps one in the main one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, main()).result()


def chunks_of(*texts: str) -> list[Chunk]:
    """One chunk per text, ids c000, c001, …, each from its own document."""
    return [Chunk(f"c{row:03d}", f"c{row:03d}", "", text, 0, len(text)) for row, text in enumerate(texts)]


OnReply = Callable[[Completion], None]
LanguageModelOf = Callable[[Settings, OnReply], LanguageModel | None]


class FakeProviders(Providers):
    """The real providers, with other models in the place of those that the settings name."""

    def __init__(
        self,
        live: LiveSettings,
        chat_model: Callable[[], ChatModel],
        language_model: LanguageModelOf = lambda *_: None,
        run_model: Callable[[Settings], ChatModel] | None = None,
    ) -> None:
        super().__init__(live)
        self._chat_model = chat_model
        self._language_model = language_model
        self._run_model = run_model

    def current(self) -> ChatModel:
        return self._chat_model()

    def language_model(self, settings: Settings, on_reply: OnReply = ignore_reply) -> LanguageModel | None:
        return self._language_model(settings, on_reply)

    def while_chosen(self, provider: str, left: Left) -> ModelSource:
        return self  # the provider of a fake model is never left

    def model(self, settings: Settings) -> ChatModel:
        return self._run_model(settings) if self._run_model else super().model(settings)


class FakeEmbedders(Embedders):
    """Embedding models that a function makes by name."""

    def __init__(self, live: LiveSettings, create: Callable[[str], Embedder]) -> None:
        super().__init__(live)
        self._fake = create

    def _create(self, name: str) -> Embedder:
        return self._fake(name)


def fake_app(
    settings: Settings,
    embedder: Callable[[str], Embedder] = lambda _: FakeEmbedder(),
    chat_model: Callable[[], ChatModel] | None = None,
    language_model: LanguageModelOf = lambda *_: None,
    run_model: Callable[[Settings], ChatModel] | None = None,
) -> App:
    """An App with a fake embedder; without ``chat_model`` its models are those that the settings name."""
    live = LiveSettings(settings)
    fake = None if chat_model is None else FakeProviders(live, chat_model, language_model, run_model)
    return App(live, fake or Providers(live), FakeEmbedders(live, embedder))
