"""Store conversations on disk, each as an append-only JSONL file ``<root>/<session>/<conversation>.jsonl``.

Lines by ``type``: ``conversation`` (first line), then for each turn ``question``, ``text`` (a piece of the answer),
``restart`` (discard the text so far), ``answer`` or ``failed``, ``feedback``. Unreadable lines are counted and skipped.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from chatbot_mvp.chat.answer import Failure
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.relevance import OUTCOMES
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.jsonl import append_lines, parsed_lines
from chatbot_mvp.storage.lru import BoundedCache

_SESSION = re.compile(r"[0-9a-z]{16,64}")
_CONVERSATION = re.compile(r"[0-9a-z-]{8,64}")

TurnState = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's rating of an answer."""

    good: bool
    note: str = ""


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


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one session with one knowledge base."""

    session: str
    conversation_id: str
    kb_id: str
    kb_name: str
    started_at: str
    """ISO 8601, UTC."""
    turns: tuple[Turn, ...] = ()
    damaged: int = 0
    """Number of unreadable lines."""

    @property
    def title(self) -> str:
        """The first question; "" if there is none yet."""
        return self.turns[0].question if self.turns else ""

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of turns; every outcome has a number. Turns without an answer are not counted."""
        found = Counter(turn.answer.outcome for turn in self.turns if turn.answer)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def history(self) -> tuple[PastTurn, ...]:
        """The answered turns, oldest first, which a new question may refer to."""
        return tuple(
            PastTurn(turn.question, turn.answer.text, turn.answer.search_query) for turn in self.turns if turn.answer
        )

    def turn(self, turn_id: str) -> Turn:
        """Return a turn by id.

        Raises:
            ConversationNotFound: there is no such turn.
        """
        for turn in self.turns:
            if turn.turn_id == turn_id:
                return turn
        raise ConversationNotFound(conversation_id=f"{self.conversation_id}/{turn_id}")


def new_session() -> str:
    """Create a session name. It is random (128 bits), because knowing it gives access to the conversations."""
    return secrets.token_hex(16)


def is_session(name: str) -> bool:
    """Return whether ``name`` has the form of a session name. Only such names are used in paths."""
    return bool(_SESSION.fullmatch(name))


class ConversationStore:
    """Reads and appends conversations. Safe for several threads; each conversation must be written by one process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: BoundedCache[Path, tuple[int, Conversation]] = BoundedCache(256)
        """Cache: path -> (file size, conversation). A page reads its conversation on every rerun."""

    def start(self, session: str, kb_id: str, kb_name: str) -> str:
        """Start a conversation and return its id. Ids sort by time.

        Raises:
            ConversationNotFound: ``session`` is not a session name.
        """
        now = datetime.now(UTC)
        conversation_id = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1_000:03d}-{secrets.token_hex(3)}"
        entry = {"type": "conversation", "kb_id": kb_id, "kb_name": kb_name, "at": utc_now()}
        self.append(session, conversation_id, entry)
        return conversation_id

    def append(self, session: str, conversation_id: str, entry: Mapping[str, Any], durable: bool = False) -> None:
        """Append a line. If ``durable``, it is on disk (fsync) before this returns.

        Raises:
            ConversationNotFound: a name has an illegal form.
        """
        path = self._path(session, conversation_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(path, [entry], sync=durable)

    def load(self, session: str, conversation_id: str) -> Conversation:
        """Read a conversation.

        Raises:
            ConversationNotFound: there is no such conversation.
        """
        path = self._path(session, conversation_id)
        try:
            size = path.stat().st_size
            kept = self._read.get(path)
            if kept and kept[0] == size:
                return kept[1]
            rows, damaged = parsed_lines(path.read_bytes()[:size])
        except OSError as error:
            raise ConversationNotFound(conversation_id=conversation_id) from error
        conversation = _folded(Conversation(session, conversation_id, "", "", "", damaged=damaged), rows)
        self._read.put(path, (size, conversation))
        return conversation

    def open(self, session: str, conversation_id: str) -> OpenConversation:
        """A conversation to write answers to.

        Raises:
            ConversationNotFound: there is no such conversation.
        """
        return OpenConversation(self, session, conversation_id, self.load(session, conversation_id).kb_id)

    def list(self, session: str, kb_id: str) -> list[Conversation]:
        """List a session's conversations with a knowledge base, newest first; empty for an illegal session name."""
        if not is_session(session):
            return []
        found = [self.load(session, path.stem) for path in sorted((self._root / session).glob("*.jsonl"), reverse=True)]
        return [conversation for conversation in found if conversation.kb_id == kb_id]

    def delete(self, session: str, conversation_id: str) -> None:
        """Delete a conversation. Does nothing if it does not exist.

        Raises:
            ConversationNotFound: a name has an illegal form.
        """
        path = self._path(session, conversation_id)
        path.unlink(missing_ok=True)
        self._read.drop(lambda kept: kept == path)

    def _path(self, session: str, conversation_id: str) -> Path:
        if not is_session(session) or not _CONVERSATION.fullmatch(conversation_id):
            raise ConversationNotFound(conversation_id=conversation_id)
        return self._root / session / f"{conversation_id}.jsonl"


class OpenConversation:
    """One conversation that answers are written to."""

    def __init__(self, store: ConversationStore, session: str, conversation_id: str, kb_id: str) -> None:
        self._store = store
        self._key = (session, conversation_id)
        self.kb_id = kb_id
        """The knowledge base that it is about."""

    def append(self, entry: Mapping[str, Any], durable: bool = False) -> None:
        """Write a line.

        Args:
            durable: whether the line must be on disk before the call returns.
        """
        self._store.append(*self._key, entry, durable)

    def history(self) -> tuple[PastTurn, ...]:
        """The turns that have ended, oldest first."""
        return self._store.load(*self._key).history


def _folded(conversation: Conversation, rows: list[dict[str, Any]]) -> Conversation:
    turns: dict[str, Turn] = {}
    damaged = conversation.damaged
    for entry in rows:
        try:
            if entry["type"] == "conversation":
                conversation = replace(
                    conversation, kb_id=entry["kb_id"], kb_name=entry["kb_name"], started_at=entry["at"]
                )
            elif entry["type"] == "question":
                turns[entry["turn"]] = Turn(entry["turn"], entry["question"], entry["mode"], entry["at"])
            else:
                turns[entry["turn"]] = _next(turns[entry["turn"]], entry)
        except (ValueError, KeyError, TypeError):
            damaged += 1
    return replace(conversation, turns=tuple(turns.values()), damaged=damaged)


def _next(turn: Turn, entry: Mapping[str, Any]) -> Turn:
    if entry["type"] == "text":
        return replace(turn, text=turn.text + entry["text"])
    if entry["type"] == "restart":
        return replace(turn, text="")
    if entry["type"] == "answer":
        answer = AnswerRecord.from_json(entry["answer"])
        return replace(turn, state="done", text=answer.text, answer=answer)
    if entry["type"] == "failed":
        return replace(turn, state="failed", failure=Failure(**entry["failure"]))
    if entry["type"] == "feedback":
        return replace(turn, feedback=Feedback(entry["good"], entry["note"]))
    raise ValueError(f"a line of type {entry['type']!r}")
