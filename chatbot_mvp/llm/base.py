"""The ChatModel protocol, what goes in and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.types import Chunk


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question with the evidence it may be answered from."""

    question: str
    passages: tuple[Chunk, ...]
    """Evidence, best first; an answer cites them as [1], [2], …"""
    language: str
    """Language of the evidence, "es" or "en"."""


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
    finish_reason: str = "stop"
    quotes: tuple[Quote, ...] | None = None
    """What the answer quotes, from a model that knows; None if it has to be found in the text."""


class ChatModel(Protocol):
    """A provider's model. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Names provider and model, as shown beside an answer."""

    @property
    def needs_evidence(self) -> bool:
        """True if the model can say nothing without passages."""

    def complete(self, request: ChatRequest) -> Completion:
        """Answer a request."""
