"""Conversations on disk: one append-only JSONL file each, ``<root>/<session>/<conversation>.jsonl``.

Lines, by their ``type``: ``conversation`` (the first), then for each turn ``question``, ``text`` (a piece of the
answer), ``restart`` (what came so far is void), ``answer`` or ``failed``, ``feedback``. Reading folds them; a line that
cannot be read is counted and skipped.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from chatbot_mvp.chat.answer import Failure
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.jsonl import append_lines, parsed_lines
from chatbot_mvp.storage.lru import BoundedCache

_SESSION = re.compile(r"[0-9a-z]{16,64}")
_CONVERSATION = re.compile(r"[0-9a-z-]{8,64}")

TurnState = Literal["running", "done", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a reader thinks of an answer."""

    good: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and as much of its answer as there is."""

    turn_id: str
    question: str
    mode: str
    asked_at: str
    """ISO 8601, UTC."""
    state: TurnState = "interrupted"
    """On disk a turn without an end is "interrupted"; only who runs it knows that it is "running"."""
    text: str = ""
    """What has arrived; ``answer.text`` once there is an answer."""
    answer: AnswerRecord | None = None
    failure: Failure | None = None
    """Why there is no answer at all."""
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one session asked one knowledge base."""

    session: str
    conversation_id: str
    kb_id: str
    kb_name: str
    started_at: str
    """ISO 8601, UTC."""
    turns: tuple[Turn, ...] = ()
    damaged: int = 0
    """Lines that cannot be read."""

    @property
    def title(self) -> str:
        """The first question; "" before there is one."""
        return self.turns[0].question if self.turns else ""

    @property
    def history(self) -> tuple[PastTurn, ...]:
        """What an answer may refer to: turns with an answer, oldest first."""
        return tuple(
            PastTurn(turn.question, turn.answer.text, turn.answer.search_query) for turn in self.turns if turn.answer
        )

    def turn(self, turn_id: str) -> Turn:
        """
        Raises:
            ConversationNotFound: it has no such turn.
        """
        for turn in self.turns:
            if turn.turn_id == turn_id:
                return turn
        raise ConversationNotFound(conversation_id=f"{self.conversation_id}/{turn_id}")


def new_session() -> str:
    """A session's name; whoever knows it can read its conversations, so it cannot be guessed."""
    return secrets.token_hex(16)


def is_session(name: str) -> bool:
    """Whether ``name`` has the form of a session's name; no other ever becomes part of a path."""
    return bool(_SESSION.fullmatch(name))


class ConversationStore:
    """Reads and appends. Safe for several threads; each conversation is written by one process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: BoundedCache[Path, tuple[int, Conversation]] = BoundedCache(256)
        """Path -> (size when read, what was read): a page reads its conversation each time it is drawn."""

    def start(self, session: str, kb_id: str, kb_name: str) -> str:
        """Begin a conversation; its id, the newest of which sorts last.

        Raises:
            ConversationNotFound: ``session`` is no session's name.
        """
        now = datetime.now(UTC)
        conversation_id = f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1_000:03d}-{secrets.token_hex(3)}"
        entry = {"type": "conversation", "kb_id": kb_id, "kb_name": kb_name, "at": utc_now()}
        self.append(session, conversation_id, entry)
        return conversation_id

    def append(self, session: str, conversation_id: str, entry: Mapping[str, Any], durable: bool = False) -> None:
        """Add a line. ``durable``: on the disk before this returns.

        Raises:
            ConversationNotFound: a name that is none of ours.
        """
        path = self._path(session, conversation_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(path, [entry], sync=durable)

    def load(self, session: str, conversation_id: str) -> Conversation:
        """
        Raises:
            ConversationNotFound
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

    def list(self, session: str, kb_id: str) -> list[Conversation]:
        """A session's conversations with a knowledge base, the newest first; empty for no session's name."""
        if not is_session(session):
            return []
        found = [self.load(session, path.stem) for path in sorted((self._root / session).glob("*.jsonl"), reverse=True)]
        return [conversation for conversation in found if conversation.kb_id == kb_id]

    def delete(self, session: str, conversation_id: str) -> None:
        """
        Raises:
            ConversationNotFound
        """
        path = self._path(session, conversation_id)
        path.unlink(missing_ok=True)
        self._read.drop(lambda kept: kept == path)

    def _path(self, session: str, conversation_id: str) -> Path:
        if not is_session(session) or not _CONVERSATION.fullmatch(conversation_id):
            raise ConversationNotFound(conversation_id=conversation_id)
        return self._root / session / f"{conversation_id}.jsonl"


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
