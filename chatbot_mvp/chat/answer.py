"""An answer with everything it rests on, and the events on the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import Mode
from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.relevance import Decision
from chatbot_mvp.chat.verification import Statement
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.base import Completion, Message
from chatbot_mvp.retrieval.trace import RetrievalTrace


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a provider did not answer, in a form that a page can put into the reader's language."""

    code: str
    """Of the error; "" if it has none."""
    message: str
    """In English."""
    params: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ChatbotError) -> Failure:
        return cls(error.code, str(error), {name: str(value) for name, value in error.params.items()})


@dataclass(frozen=True)
class Answer:
    """What the chat says to one question."""

    text: str
    sources: tuple[Source, ...]
    """The cited passages; empty for an answer that is not from the knowledge base."""
    statements: tuple[Statement, ...]
    """Its sentences with their support; empty where nothing is to be supported."""
    mode: Mode
    search: Search
    decision: Decision
    messages: tuple[Message, ...]
    """What the model was asked; empty when none was."""
    completion: Completion | None
    """None when no provider was called."""
    abstained: bool
    """True when ``text`` is a fixed reply."""
    from_kb: bool
    """False for a model's own answer and for a fixed reply."""
    failure: Failure | None
    """Of the provider; the answer is then the fallback's."""
    fingerprint: str
    """Of the chat: pipeline, prompts and model."""
    strategy: str
    seconds: float
    """From the question to the end, the search included."""

    @property
    def trace(self) -> RetrievalTrace:
        return self.search.trace

    @property
    def fell_back(self) -> bool:
        """True when the provider failed and the built-in model answered in its place."""
        return self.failure is not None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The search is done; the answer is yet to come."""

    search: Search


@dataclass(frozen=True, slots=True)
class Piece:
    """More of the answer's text, as the model wrote it."""

    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The provider failed: what came so far is void, and the built-in model begins anew."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Finished:
    """The end. ``answer.text`` may differ from the pieces: citations of nothing are gone."""

    answer: Answer


Event = Retrieved | Piece | Restarted | Finished
