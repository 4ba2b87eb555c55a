"""The ChatModel protocol, what goes in and what comes out, and the registry of providers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.errors import UnknownChoice
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
class Completion:
    """What a model gave back."""

    text: str
    """The answer, with citations like [1]; "" when the model has none."""
    model: str
    seconds: float
    finish_reason: str = "stop"


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


def _demo() -> ChatModel:
    from chatbot_mvp.llm.demo import DemoModel

    return DemoModel()


PROVIDERS: dict[str, Callable[[], ChatModel]] = {"demo": _demo}
"""Name of the setting ``PROVIDER`` -> factory. A factory imports its SDK when it is called."""


def create_chat_model(provider: str) -> ChatModel:
    """
    Raises:
        UnknownChoice: no such provider.
    """
    if provider not in PROVIDERS:
        raise UnknownChoice(kind="provider", found=provider, legal=", ".join(PROVIDERS))
    return PROVIDERS[provider]()
