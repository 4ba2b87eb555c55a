"""The answer to a chat question with its sources and evidence, and the events of a streamed answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import Mode
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.garbage import Garbage
from chatbot_mvp.chat.nearest import Nearest
from chatbot_mvp.chat.relevance import Decision, Outcome
from chatbot_mvp.chat.verification import Statement
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.base import Completion, Message
from chatbot_mvp.retrieval.trace import RetrievalTrace

Why = Literal["topic", "evidence", "relevance", "declined", "unsupported", "readings"]
"""Why there is no answer.

topic: the question is about something else. evidence: the evidence score is too low, or the built-in model proves no
quote. relevance: a model said that the passages are not relevant. declined: the model found no answer in the passages.
unsupported: the model answered, but the passages support none of its sentences. readings: the question could mean
several things."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a provider did not answer, as a code with parameters that a page can translate."""

    code: str
    """Error code; "" if the error has none."""
    message: str
    """Error message in English."""
    params: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ChatbotError) -> Failure:
        return cls(error.code, str(error), {name: str(value) for name, value in error.params.items()})


@dataclass(frozen=True)
class Answer:
    """The chat's answer to one question."""

    text: str
    sources: tuple[Source, ...]
    """The cited passages; empty for a fixed reply and for an answer without passages."""
    statements: tuple[Statement, ...]
    """Its sentences with their support; empty for a fixed reply and for an answer without passages."""
    mode: Mode
    search: Search
    decision: Decision
    messages: tuple[Message, ...]
    """The prompt sent to the model; empty if no model was asked."""
    completion: Completion | None
    """The model's reply; None if no model was asked or none answered."""
    outcome: Outcome
    why: Why | None
    """Why there is no answer; None if there is one."""
    nearest: Nearest | None
    """In strict mode, the passages that stand nearest to the question if the outcome is "nearest", and its readings,
    each with the passage that would answer it, if it is "asks"; else None."""
    hint: str
    """What to do after a fixed reply: rephrase the question, or ask one of its readings. "" for an answer."""
    from_kb: bool
    """True if the passages support at least one sentence; False for a model's own answer and for a fixed reply."""
    failure: Failure | None
    """The provider's failure, after which the fallback answered; None if the provider answered."""
    fingerprint: str
    """Identifies the chat's pipeline, prompts and model."""
    strategy: str
    vectors_share: float | None
    """Share (0-1) of the knowledge base's vectors that the search used; None if its strategy uses no vectors."""
    garbage: Garbage
    """What of the model's text is no answer to this question at all; "" if nothing is."""
    seconds: float
    """Time from the question to the end of the answer, including the search."""

    @property
    def abstained(self) -> bool:
        """True if ``text`` is a fixed reply."""
        return self.outcome != "answered"

    @property
    def trace(self) -> RetrievalTrace:
        return self.search.trace

    @property
    def fell_back(self) -> bool:
        """True if the provider failed and the built-in model answered in its place."""
        return self.failure is not None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is done; the answer follows."""

    search: Search


@dataclass(frozen=True, slots=True)
class Piece:
    """The next part of the answer's text, as the model wrote it."""

    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The provider failed: discard the pieces so far. The built-in model answers instead if there is evidence."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete. ``answer.text`` may differ from the pieces, since invalid citations are removed."""

    answer: Answer


Event = Retrieved | Piece | Restarted | Finished
