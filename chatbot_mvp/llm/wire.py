"""Interface of an adapter: four calls over a vendor's library. Retries, limits and cost are added elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.llm.base import ChatRequest, FinishReason
from chatbot_mvp.remote.failures import Failure


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply, or a complete reply."""

    text: str = ""
    finish_reason: FinishReason | None = None
    """Set in the piece that ends the text."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def empty(self) -> bool:
        """True if it has no text, finish reason or tokens."""
        return self == Delta()


class UnusableReply(Exception):
    """The provider replied, but the reply cannot be used; the message says why."""


class Wire(Protocol):
    """Sends requests to one vendor's models, without retries. Raises the vendor's exceptions, or UnusableReply."""

    def complete(self, request: ChatRequest) -> Delta:
        """Return the complete reply, with its finish reason."""

    def stream(self, request: ChatRequest) -> Generator[Delta, None, None]:
        """Yield the non-empty pieces of a reply. Closing the generator frees the connection."""

    def models(self, timeout: float) -> Sequence[str]:
        """Return the names of the provider's models, as used in requests; ``timeout`` in seconds."""

    def failure_of(self, error: Exception) -> Failure | None:
        """Convert an exception to a ``Failure``; None if it is not a failure of the provider."""
