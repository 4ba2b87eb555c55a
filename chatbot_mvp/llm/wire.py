"""What an adapter gives: a vendor's library behind four calls. Retries, limits and cost are built on them once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.llm.base import ChatRequest, FinishReason
from chatbot_mvp.remote.failures import Failure


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply, or the whole of it."""

    text: str = ""
    finish_reason: FinishReason | None = None
    """Stands in the piece that ends the text."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def empty(self) -> bool:
        """True if it says nothing at all."""
        return self == Delta()


class UnusableReply(Exception):
    """The provider answered, but not with an answer; says what is wrong with it."""


class Wire(Protocol):
    """One vendor's way to ask a model, without retries. Exceptions are the vendor's own, or UnusableReply."""

    def complete(self, request: ChatRequest) -> Delta:
        """The whole reply, with its finish reason."""

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        """The pieces of a reply, none of them empty. Closing the generator frees the connection."""

    def models(self, timeout: float) -> Sequence[str]:
        """The models that the provider offers, by the names it is asked for them; ``timeout`` in seconds."""

    def failure_of(self, error: Exception) -> Failure | None:
        """What an exception means; None for one that is no failure of the provider."""
