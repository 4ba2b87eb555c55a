"""Store conversations on disk, each as an append-only JSONL file ``<root>/<session>/<conversation>.jsonl``.

Lines by ``type``: ``conversation`` (first line), then for each turn ``question``, ``text`` (a piece of the answer),
``restart`` (discard the text so far), ``answer`` or ``failed``, ``feedback``; anywhere ``title`` and ``pin``, of which
the last one counts. A question follows the one above it in the file; one that names another turn in ``after`` begins a
branch there. Unreadable lines are counted and skipped.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from chatbot_mvp.chat import limits
from chatbot_mvp.chat.answer import Failure
from chatbot_mvp.chat.context import MODES
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.chat.relevance import OUTCOMES
from chatbot_mvp.errors import ConversationNotFound, FileOfLaterVersion, FilterError, LimitError
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter
from chatbot_mvp.storage.clock import now, utc_now
from chatbot_mvp.storage.files import make_folder, naming
from chatbot_mvp.storage.formats import CONVERSATION, VERSION, known_version
from chatbot_mvp.storage.jsonl import append_lines, parsed_lines
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import PastTurn

_log = logging.getLogger(__name__)
_SESSION = re.compile(r"[0-9a-z]{16,64}")
_CONVERSATION = re.compile(r"[0-9a-z-]{8,64}")

FEEDBACK_REASONS = ("off_question", "wrong", "incomplete", "not_in_source", "outdated")
"""Why an answer is bad, for a person to choose from."""
_ANSWERS = tuple(b'{"type": "%s"' % kind for kind in (b"answer", b"text", b"restart"))
_HEADS_KEPT = 5_000
NO_OTHERS: Mapping[str, str] = {}

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
        """The title that it was given, else its first question, in one line; "" before that."""
        return self.given_title or (" ".join(self.turns[0].question.split()) if self.turns else "")

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

        Turns without an answer are not counted, and neither are answers from a passage that a person chose.
        """
        found = Counter(turn.answer.outcome for turn in self.turns if turn.answer and not turn.answer.chosen)
        return {outcome: found[outcome] for outcome in OUTCOMES}

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
        return tuple(
            PastTurn(turn.question, turn.answer.text, turn.answer.search_query)
            for turn in of_branch[: ids.index(before) + 1 if before else 0]
            if turn.answer
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
    """Reads and appends conversations. Safe for several threads and processes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: BoundedCache[Path, tuple[tuple[int, int], Conversation]] = BoundedCache(256)
        """Cache: path -> (time of the last change and size of the file, conversation). A page reads its conversation
        on every rerun."""
        self._heads: BoundedCache[Path, tuple[tuple[int, int], Conversation]] = BoundedCache(_HEADS_KEPT)
        """The same for ``heads``."""

    def start(self, session: str, kb_id: str, kb_name: str, others: Mapping[str, str] = NO_OTHERS) -> str:
        """Start a conversation and return its id. Ids sort by time.

        Args:
            others: id -> name of further knowledge bases to ask.

        Raises:
            ConversationNotFound: ``session`` is not a session name.
            LimitError (too_many_conversations): the session has as many as it may keep.
            FileNotWritten: the disk is full or not writable.
        """
        if is_session(session) and sum(1 for _ in (self._root / session).glob("*.jsonl")) >= limits.MOST_CONVERSATIONS:
            raise LimitError("too_many_conversations", limit=limits.MOST_CONVERSATIONS)
        at = now(timedelta(milliseconds=1))
        conversation_id = f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1_000:03d}-{secrets.token_hex(3)}"
        entry = {"type": "conversation", VERSION: CONVERSATION, "kb_id": kb_id, "kb_name": kb_name, "at": utc_now()}
        if others:
            entry["others"] = [{"kb_id": other, "kb_name": name} for other, name in others.items()]
        self.append(session, conversation_id, entry)
        return conversation_id

    def append(self, session: str, conversation_id: str, entry: Mapping[str, Any], durable: bool = False) -> None:
        """Append a line. If ``durable``, it is on disk (fsync) before this returns.

        Raises:
            ConversationNotFound: a name has an illegal form.
            FileNotWritten: the disk is full or not writable; earlier lines stay.
        """
        path = self._path(session, conversation_id)
        with naming(path):
            make_folder(path.parent)
            append_lines(path, [entry], sync=durable)

    def load(self, session: str, conversation_id: str) -> Conversation:
        """Read a conversation.

        Raises:
            ConversationNotFound: there is no such conversation.
            FileOfLaterVersion
        """
        return self._kept(self._read, self._path(session, conversation_id), lambda content: content)

    def _kept(
        self,
        cache: BoundedCache[Path, tuple[tuple[int, int], Conversation]],
        path: Path,
        choose: Callable[[bytes], bytes],
    ) -> Conversation:
        """Return a conversation from the cache, or from those lines of its file that ``choose`` returns."""
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            kept = cache.get(path)
            if kept and kept[0] == stamp:
                return kept[1]
            rows, damaged = parsed_lines(choose(path.read_bytes()[: found.st_size]))
        except OSError as error:
            raise ConversationNotFound(conversation_id=path.stem) from error
        conversation = _folded(Conversation(path.parent.name, path.stem, "", "", "", damaged=damaged), rows, path)
        cache.put(path, (stamp, conversation))
        return conversation

    def heads(self, session: str) -> list[Conversation]:
        """List a session's conversations without the answers of their turns, the one that was last asked first.

        Quick for hundreds: answers are not parsed. Files that a later version wrote are left out; an illegal session
        name has none. A conversation whose first line is damaged has "" as its knowledge base.
        """
        found = []
        for path in (self._root / session).glob("*.jsonl") if is_session(session) else ():
            try:
                found.append(self._kept(self._heads, path, _without_answers))
            except (ConversationNotFound, FileOfLaterVersion) as error:
                _log.warning("%s", error)
        return sorted(found, key=lambda head: (head.last_at, head.conversation_id), reverse=True)

    def list(self, session: str, kb_id: str) -> list[Conversation]:
        """List a session's conversations that ask a knowledge base, as ``heads`` does, with all that they say."""
        return [self.load(session, head.conversation_id) for head in self.heads(session) if kb_id in head.kb_ids]

    def delete(self, session: str, conversation_id: str) -> None:
        """Delete a conversation. Does nothing if it does not exist.

        Raises:
            ConversationNotFound: a name has an illegal form.
        """
        path = self._path(session, conversation_id)
        path.unlink(missing_ok=True)
        for cache in (self._read, self._heads):
            cache.drop(lambda kept: kept == path)

    def _path(self, session: str, conversation_id: str) -> Path:
        if not is_session(session) or not _CONVERSATION.fullmatch(conversation_id):
            raise ConversationNotFound(conversation_id=conversation_id)
        return self._root / session / f"{conversation_id}.jsonl"


def _without_answers(content: bytes) -> bytes:
    """Return the lines of a conversation but for those that begin as answers do: nearly all of its bytes."""
    return b"\n".join(line for line in content.split(b"\n") if not line.startswith(_ANSWERS))


def _folded(conversation: Conversation, rows: list[dict[str, Any]], path: Path) -> Conversation:
    turns: dict[str, Turn] = {}
    damaged = conversation.damaged
    for entry in rows:
        try:
            if entry["type"] == "conversation":
                kb_id, kb_name, at = _texts(known_version(entry, path, CONVERSATION), "kb_id", "kb_name", "at")
                named = (_texts(other, "kb_id", "kb_name") for other in entry.get("others", ()))
                others = tuple((other, name) for other, name in named)
                conversation = replace(conversation, kb_id=kb_id, kb_name=kb_name, started_at=at, others=others)
            elif entry["type"] == "title":
                conversation = replace(conversation, given_title=_texts(entry, "title")[0])
            elif entry["type"] == "pin":
                conversation = replace(conversation, pinned=entry["pinned"] is True)
            elif entry["type"] == "question":
                turn_id, question, mode, at = _texts(entry, "turn", "question", "mode", "at")
                if mode not in MODES or not turn_id:
                    raise ValueError(f"a question in the mode {mode!r}, of the turn {turn_id!r}")
                asked = DocumentFilter.from_json(entry.get("documents", {}))
                answer_in, after = _texts({"answer_in": "", "after": "", **entry}, "answer_in", "after")
                turns[turn_id] = Turn(
                    turn_id,
                    question,
                    mode,
                    at,
                    documents=asked,
                    after=_place(turn_id, after if "after" in entry else None, turns),
                    answer_in=answer_in,
                )
            else:
                turns[entry["turn"]] = _next(turns[entry["turn"]], entry)
        except (ValueError, KeyError, TypeError, AttributeError, FilterError):
            damaged += 1
    return replace(conversation, turns=tuple(turns.values()), damaged=damaged)


def _place(turn_id: str, after: str | None, turns: dict[str, Turn]) -> str:
    """Return the turn that a question follows: the one that it names, else the one above it in the file.

    No turn may follow itself, directly or over others, however damaged the file is.
    """
    if turn_id in turns:
        return turns[turn_id].after
    return after if after is not None and (after == "" or after in turns) else next(reversed(turns), "")


def _next(turn: Turn, entry: Mapping[str, Any]) -> Turn:
    if entry["type"] == "text":
        return replace(turn, text=turn.text + entry["text"])
    if entry["type"] == "restart":
        return replace(turn, text="")
    if entry["type"] == "answer":
        answer = AnswerRecord.from_json(entry["answer"])
        return replace(turn, state="done", text=answer.text, answer=answer)
    if entry["type"] == "failed":
        failure = entry["failure"]
        code, message = _texts(failure, "code", "message")
        params = {str(name): str(value) for name, value in failure["params"].items()}
        return replace(turn, state="failed", failure=Failure(code, message, params))
    if entry["type"] == "feedback":
        [note] = _texts(entry, "note")
        if not isinstance(entry["good"], bool):
            raise TypeError("good")
        reasons = tuple(name for name in FEEDBACK_REASONS if name in list(entry.get("reasons", ())))
        return replace(turn, feedback=Feedback(entry["good"], note, reasons))
    raise ValueError(f"a line of type {entry['type']!r}")


def _texts(entry: Mapping[str, Any], *names: str) -> list[str]:
    for name in names:
        if not isinstance(entry[name], str):
            raise TypeError(name)
    return [entry[name] for name in names]
