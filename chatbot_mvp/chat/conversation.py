"""A conversation: questions and answers of one visitor over one or several knowledge bases, with branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.chat.answer import Failure
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.relevance import OUTCOMES
from chatbot_mvp.chat.small_talk import asked_in, small_talk
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter
from chatbot_mvp.types import PastTurn

FEEDBACK_REASONS = ("off_question", "wrong", "incomplete", "not_in_source", "outdated")
"""Why an answer is bad, for a person to choose from."""

TurnState = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's rating of an answer."""

    good: bool
    note: str = ""
    reasons: tuple[str, ...] = ()
    """What is wrong with it, of ``FEEDBACK_REASONS``."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer, which may be incomplete."""

    turn_id: str
    question: str
    mode: str
    asked_at: str
    """ISO 8601, UTC."""
    state: TurnState = "interrupted"
    """A turn that has no end on disk is "interrupted". ``ChatSessions`` marks those in progress as "running"."""
    text: str = ""
    """The text received so far; ``answer.text`` once there is an answer."""
    answer: AnswerRecord | None = None
    failure: Failure | None = None
    """Why there is no answer; None unless the turn failed."""
    feedback: Feedback | None = None
    documents: DocumentFilter = ALL_DOCUMENTS
    """The documents that it was asked of."""
    after: str = ""
    """Id of the turn that it follows in its branch; "" if it begins the conversation. Turns that follow the same one
    are alternatives: answers to the same question, or to an edited one."""
    answer_in: str = ""
    """The language that the answer was asked in, "es" or "en"; "" for the question's."""


def past_of(turns: Iterable[Turn]) -> tuple[PastTurn, ...]:
    """Return those of some turns that are answered, as a later question may refer to them; no greetings or thanks."""
    return tuple(
        PastTurn(turn.question, turn.answer.text, turn.answer.search_query)
        for turn in turns
        if turn.answer and not turn.answer.is_talk
    )


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one session with one knowledge base, or with several at once."""

    session: str
    conversation_id: str
    kb_id: str
    kb_name: str
    started_at: str
    """ISO 8601, UTC."""
    turns: tuple[Turn, ...] = ()
    damaged: int = 0
    """Number of unreadable lines."""
    held: bool = False
    """Whether some of it is in memory only, because the disk did not take it."""
    others: tuple[tuple[str, str], ...] = ()
    """(id, name) of the further knowledge bases that each question is asked of."""
    given_title: str = ""
    """The title that its owner gave it; "" for none."""
    pinned: bool = False

    @property
    def kb_names(self) -> dict[str, str]:
        """Id -> name, then, of each knowledge base that it asks; the first one first."""
        return {self.kb_id: self.kb_name, **dict(self.others)}

    @property
    def kb_ids(self) -> tuple[str, ...]:
        return tuple(self.kb_names)

    @property
    def title(self) -> str:
        """The title that it was given, else its first question that is no greeting, in one line; "" before that."""
        asked = [turn.question for turn in self.turns]
        first = asked_in(next((question for question in asked if not small_talk(question)), "".join(asked[:1])))
        return self.given_title or " ".join(first.split())

    @property
    def last_at(self) -> str:
        """When its last question was asked, else when it was started."""
        return self.turns[-1].asked_at if self.turns else self.started_at

    def kb_of(self, turn: Turn) -> str:
        """Return the id of the knowledge base that a turn is about: of its best source, or of the nearest passage."""
        answer = turn.answer
        found = answer.sources or (answer.nearest.passages if answer.nearest else ()) if answer else ()
        return next((source.chunk.doc_id for source in found if source.chunk.doc_id in self.kb_ids), self.kb_id)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of turns; every outcome has a number.

        Turns without an answer are not counted, and neither are answers from a passage that a person chose
        or replies to a greeting.
        """
        found = Counter(one.outcome for one in self.counted)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def counted(self) -> tuple[AnswerRecord, ...]:
        """The answers that ``outcomes`` counts, oldest first."""
        answers = (turn.answer for turn in self.turns)
        return tuple(one for one in answers if one and not (one.chosen or one.is_talk or one.is_outline))

    def branch(self, turn_id: str = "") -> tuple[Turn, ...]:
        """Return the turns of the branch that a turn is in, oldest first, up to its end.

        Where the branch divides behind the turn, the alternative with the newest question is followed. Without a turn
        of the conversation, it is the branch of the newest question.
        """
        turns = {turn.turn_id: turn for turn in self.turns}
        end = turn_id if turn_id in turns else next(reversed(turns), "")
        below = {end}
        for turn in self.turns:
            if turn.after in below:
                below.add(turn.turn_id)
                end = turn.turn_id
        found: list[Turn] = []
        while end:
            found.append(turns[end])
            end = turns[end].after
        return tuple(reversed(found))

    def alternatives(self, turn: Turn) -> tuple[Turn, ...]:
        """Return the turns that stand at the place of ``turn`` in their branches, itself included, oldest first."""
        return tuple(one for one in self.turns if one.after == turn.after)

    def history_of(self, turn_id: str) -> tuple[PastTurn, ...]:
        """Return the answered turns before a turn in its branch, oldest first: those that its question may refer to.

        Raises:
            ConversationNotFound: there is no such turn.
        """
        before = self.turn(turn_id).after
        of_branch = self.branch(before) if before else ()
        ids = [turn.turn_id for turn in of_branch]
        return past_of(of_branch[: ids.index(before) + 1 if before else 0])

    def turn(self, turn_id: str) -> Turn:
        """Return a turn by id.

        Raises:
            ConversationNotFound: there is no such turn.
        """
        for turn in self.turns:
            if turn.turn_id == turn_id:
                return turn
        raise ConversationNotFound(conversation_id=f"{self.conversation_id}/{turn_id}")
