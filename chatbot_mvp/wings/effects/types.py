"""What a comparison of two versions consists of: its plan, the answers of both sides, and what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import ConfigDict

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.runs.rows import STORED

Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")
Kind = Literal["same", "elsewhere", "changed", "lost", "new", "declined"]
"""What became of an answer. same: equal words from equal passages. elsewhere: equal words, another document or passage
cited. changed: other words. lost: answered before, not after. new: answered after, not before. declined: by both."""
KINDS: tuple[Kind, ...] = ("lost", "new", "changed", "elsewhere", "same", "declined")
"""The kinds, in the order in which people want to see them."""
Source = Literal["set", "file", "chat"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that an answer cites."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    path: str
    """Path of its document."""
    page: int | None
    """Page from 1; None for formats without pages."""
    section: str
    text: str
    quotes: tuple[tuple[int, int], ...]
    """(start, end) of the cited sentences in ``text``, in characters."""

    @property
    def cited(self) -> tuple[str, ...]:
        """The cited sentences; the whole passage if none is marked."""
        return tuple(self.text[start:end] for start, end in self.quotes) or (self.text,)


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """What one version answered to one question."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    text: str
    """The answer, or the fixed reply where there is none."""
    outcome: str
    """As in ``Answer``: answered, nearest or refused."""
    why: str
    """As in ``Answer``; "" for an answer."""
    evidence: float
    """Evidence score, 0-1."""
    passages: tuple[Passage, ...]
    stands: bool | None
    """Whether the expected paragraph stands in this version, word for word; None if the question expects none."""
    right: bool | None
    """Whether the answer quotes the expected paragraph, or the question is declined where that is right; None if the
    question does not say what is right, or its paragraph does not stand in this version."""
    rank: int | None
    """Rank from 1 of the first passage found that covers half of the expected paragraph; None if none does."""
    fingerprint: str
    """Identifies search, prompts and model."""
    model: str
    """Model that wrote it; "" if none was asked."""
    seconds: float

    @property
    def answered(self) -> bool:
        return self.outcome == "answered"


@dataclass(frozen=True, slots=True)
class Effect:
    """A question and what became of its answer."""

    question: KbQuestion
    kind: Kind
    before: SideAnswer
    after: SideAnswer

    @property
    def gone(self) -> bool:
        """Whether the expected paragraph stood in the version before and does not stand in the one after."""
        return self.before.stands is True and self.after.stands is False

    @property
    def unanswerable(self) -> bool:
        """Whether declining is right."""
        return self.question.kind in UNANSWERABLE


@dataclass(frozen=True, slots=True)
class EffectsPlan:
    """Which versions are asked, and what. Written once."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    effects_id: str
    kb_id: str
    kb_name: str
    before: str
    """Id of the version that the change is measured against."""
    after: str
    before_number: int
    """Its number in the history; 0 for one that was never current."""
    after_number: int
    """As ``before_number``; 0 for a draft."""
    source: Source
    source_name: str
    """Name of the question set or file; "" for the chat."""
    asker: str
    """Hash of the session whose chat it asks; "" for the chats of all sessions, and for other questions."""
    created_at: str
    """ISO 8601, UTC."""
    questions: tuple[KbQuestion, ...]
    """With distinct ids."""

    def version(self, side: Side) -> str:
        return self.before if side == "before" else self.after


@dataclass(frozen=True, slots=True)
class EffectsState:
    """A comparison and how far it is."""

    plan: EffectsPlan
    done: int
    """Answers that are there, of both versions together."""
    job: JobStatus | None
    """The job in the background; None if there is none, as for one of the command line."""
    busy: bool
    """Whether some process works on it."""

    @property
    def total(self) -> int:
        return len(SIDES) * len(self.plan.questions)

    @property
    def finished(self) -> bool:
        return self.done == self.total

    @property
    def active(self) -> bool:
        return self.job is not None and self.job.active


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a comparison can need at most."""

    answers: int
    """Answers that are missing, of both versions together."""
    requests: int
    """Requests to the model, at most; 0 without a model."""
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """US dollars, at most; None if no price is known."""


Answers = Mapping[Side, Mapping[str, SideAnswer]]
"""Side -> id of the question -> its answer."""
