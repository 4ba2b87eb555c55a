"""The ChatModel protocol, what goes in and what comes out. Nothing here knows a vendor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from chatbot_mvp.types import Chunk

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "filtered", "cancelled"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a model reads."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a model is to answer. None leaves the choice to the provider."""

    temperature: float = 0.0
    """0-2. Replies are cached at 0 only."""
    max_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """JSON schema of the reply, where the provider can hold to one; otherwise it is ignored."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """What an extractive model answers from; any other reads it in its messages."""

    question: str
    passages: tuple[Chunk, ...]
    """Evidence, best first; an answer cites them as [1], [2], …"""
    language: str
    """Language of the evidence, "es" or "en"."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked of a model."""

    messages: tuple[Message, ...]
    """The prompt, oldest first; a system message, if any, comes first."""
    options: ChatOptions = ChatOptions()
    grounding: Grounding | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a completion took. None: the provider did not say, or no price is known."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage's sentence that an answer repeats."""

    number: int
    """As in the answer's [n]; from 1."""
    start: int
    """Offset in the passage's text, in characters."""
    end: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model gave back."""

    text: str
    """The answer, with citations like [1]; "" when the model has none."""
    model: str
    seconds: float
    """From the request to the last token, waiting and retries included."""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    cached: bool = False
    """True when it came from the response cache and cost nothing."""
    quotes: tuple[Quote, ...] | None = None
    """What the answer quotes, from a model that knows; None if it has to be found in the text."""


class ChatStream(Protocol):
    """An answer on its way: iterate for the pieces of its text, in order; they add up to ``completion.text``.

    Iterating raises ChatbotError when the provider fails; what was yielded before stays valid.
    """

    def __iter__(self) -> Iterator[str]: ...

    @property
    def completion(self) -> Completion:
        """The whole, once the iteration has ended; before that, or after ``close``, what has come so far
        (finish_reason "cancelled")."""

    def close(self) -> None:
        """Stop early and free the connection. Safe to call twice, and after the end."""


class ChatModel(Protocol):
    """A provider's model. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Names provider and model ("groq/llama-3.3-70b-versatile"), as shown beside an answer."""

    @property
    def needs_evidence(self) -> bool:
        """True if the model can say nothing without passages."""

    def complete(self, request: ChatRequest) -> Completion:
        """Answer a request.

        Raises:
            ProviderError: the provider did not answer; its subclasses tell why.
        """

    def stream(self, request: ChatRequest) -> ChatStream:
        """Begin to answer a request; the pieces come as they arrive. May raise at once, as ``complete``."""


def ignore_reply(_: Completion) -> None:
    """For callers that do not count a model's replies."""
