"""The ChatModel protocol with its requests and replies. Independent of any vendor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, Protocol

from chatbot_mvp.remote.stop import Stop
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "filtered", "cancelled"]


Near = Callable[[Sequence[str]], Sequence[tuple[float, Mapping[str, float]]]]
"""Maps texts to, for each text, (its late interaction with a question, folded word of the question -> nearness, mostly
0-1, to the text's nearest word)."""

_LABELS = {"system": "", "user": "Input: ", "assistant": "Output: "}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Options of a request. None leaves the choice to the provider."""

    temperature: float = 0.0
    """0-2. Only replies at 0 are cached."""
    max_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """JSON schema of the reply; ignored by providers that do not support schemas."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Evidence for an extractive model. Other models read the same evidence in their messages."""

    question: str
    passages: tuple[Chunk, ...]
    """Passages, best first; an answer cites them as [1], [2], …"""
    language: str
    """Language of the question, "es" or "en"."""
    closeness: Callable[[Sequence[str]], Sequence[float]] | None = field(default=None, compare=False)
    """Returns how similar in meaning each of some texts is to the question, 0-1; None to compare words alone."""
    analyzer: Analyzer | None = field(default=None, compare=False)
    """Analyses question and passages; None if all of them are in ``language``."""
    near: Near | None = field(default=None, compare=False)
    """Compares texts with the question token by token; None to compare words alone."""
    least_proof: float | None = field(default=None, compare=False)
    """Proof, from 1 on, that a quote needs to answer; None if what is nearest to the question is quoted."""
    tables: tuple[Chunk, ...] = field(default=(), compare=False)
    """What the tables of the passages have besides; cited with the numbers behind those of the passages."""
    goes_on: frozenset[tuple[str, int]] = field(default=frozenset(), compare=False)
    """(id, -1 or 1) of passages and ``tables`` whose section has another passage before or behind: a table may go on
    there."""
    date_of: Callable[[str], date | None] = field(default=lambda heading: None, compare=False)
    """Returns the day that a heading says its text is of, as those of minutes do; None if it says none."""
    until: date | None = field(default=None, compare=False)
    """Day that the question asks about: what is of a later one answers nothing. None for any."""
    parts: tuple[Grounding, ...] = field(default=(), compare=False)
    """The same evidence for each of the questions, if it is several: all are answered, or none."""

    @property
    def quotable(self) -> tuple[Chunk, ...]:
        """The passages and the rest of their tables."""
        return (*self.passages, *self.tables)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model."""

    messages: tuple[Message, ...]
    """The prompt, oldest first; a system message, if any, comes first."""
    options: ChatOptions = ChatOptions()
    grounding: Grounding | None = None
    stop: Stop = field(default_factory=Stop, compare=False)
    """Ends the request at the provider when it is set."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a completion. None: the provider did not report it, or the price is not known."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage that an answer quotes."""

    number: int
    """Number of the passage, as in the citation [n]; from 1."""
    start: int
    """Offset in the passage's text, in characters; ``end`` is exclusive."""
    end: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Reply of a model."""

    text: str
    """The answer, with citations like [1]; "" if the model has no answer."""
    model: str
    seconds: float
    """Time from the request to the last token, including waits and retries."""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    cached: bool = False
    """True if it came from the reply cache and cost nothing."""
    quotes: tuple[Quote, ...] | None = None
    """Sentences that the answer quotes, if the model reports them; None if they must be found in the text."""
    proof: float | None = None
    """How well the quote, or the one that comes nearest to it, is proven to answer, over what was asked for; from 1 on
    it answers. None if it need not be proven."""


class ChatStream(Protocol):
    """A streamed answer: iterating yields pieces of its text, in order, that add up to ``completion.text``.

    Iterating raises ChatbotError if the provider fails; the pieces yielded before remain valid.
    """

    def __iter__(self) -> Iterator[str]: ...

    @property
    def completion(self) -> Completion:
        """The complete reply once the iteration has ended. Before that, or after ``close``: the text received so far,
        with finish_reason "cancelled"."""

    def close(self) -> None:
        """Stop early and free the connection. Safe to call repeatedly and after the end."""


class ChatModel(Protocol):
    """A provider's model. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Provider and model, as shown next to an answer: "groq/llama-3.3-70b-versatile"."""

    @property
    def needs_evidence(self) -> bool:
        """True if the model cannot answer without passages."""

    def complete(self, request: ChatRequest) -> Completion:
        """Answer a request.

        Raises:
            ProviderError: the provider did not answer; the subclass gives the reason.
            RequestStopped: the request's ``stop`` was set.
        """

    def stream(self, request: ChatRequest) -> ChatStream:
        """Start to answer a request and return the stream of its pieces. May raise at once, as ``complete`` does."""


def ignore_reply(_: Completion) -> None:
    """For callers that do not count a model's replies."""


class FinishedStream:
    """A ``ChatStream`` that yields a finished completion word by word."""

    def __init__(self, completion: Completion) -> None:
        self._whole = completion
        self._left = re.findall(r"\s*\S+\s*", completion.text) or [completion.text]
        self._sent = ""
        self._closed = False

    def __iter__(self) -> Iterator[str]:
        while self._left and not self._closed:
            piece = self._left.pop(0)
            self._sent += piece
            yield piece

    @property
    def completion(self) -> Completion:
        if not self._left:
            return self._whole
        return replace(self._whole, text=self._sent, finish_reason="cancelled", quotes=None)

    def close(self) -> None:
        self._closed = True


def plain_prompt(messages: Sequence[Message]) -> str:
    """Return messages as one text that ends where the reply begins. A single message stays as it is."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join([*(_LABELS[message.role] + message.content for message in messages), "Output: "])
