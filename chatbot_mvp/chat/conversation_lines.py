"""Read a conversation from the lines of its file.

Lines by ``type``: ``conversation`` (first line), then for each turn ``question``, ``text`` (a piece of the answer),
``restart`` (discard the text so far), ``answer`` or ``failed``, ``feedback``; anywhere ``title`` and ``pin``, of which
the last one counts. A question follows the one above it in the file; one that names another turn in ``after`` begins a
branch there. Unreadable lines are counted and skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.answer import Failure
from chatbot_mvp.chat.context import MODES
from chatbot_mvp.chat.conversation import FEEDBACK_REASONS, Conversation, Feedback, Turn
from chatbot_mvp.chat.records import AnswerRecord
from chatbot_mvp.errors import FilterError
from chatbot_mvp.knowledge_base.filters import DocumentFilter
from chatbot_mvp.storage.formats import CONVERSATION, known_version

_ANSWERS = tuple(b'{"type": "%s"' % kind for kind in (b"answer", b"text", b"restart"))


def without_answers(content: bytes) -> bytes:
    """Return the lines of a conversation but for those that begin as answers do: nearly all of its bytes."""
    return b"\n".join(line for line in content.split(b"\n") if not line.startswith(_ANSWERS))


def whole(content: bytes) -> bytes:
    """Return all lines of a conversation."""
    return content


def read_lines(
    conversation: Conversation, rows: Sequence[Mapping[str, Any]], path: Path, texts: bool = False
) -> Conversation:
    """Return the conversation with what the lines say, in their order; those that say nothing are counted.

    Args:
        path: the file, for the message.
        texts: whether to read of each answer its text alone, which takes less time. In place of a fixed reply it is the
            passage that was open below, "" for none.

    Raises:
        FileOfLaterVersion
    """
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
            elif texts and entry["type"] == "answer":
                turns[entry["turn"]] = replace(turns[entry["turn"]], text=_said(entry["answer"]))
            else:
                turns[entry["turn"]] = _next(turns[entry["turn"]], entry)
        except (ValueError, KeyError, TypeError, AttributeError, FilterError):
            damaged += 1
    return replace(conversation, turns=tuple(turns.values()), damaged=damaged)


def _said(answer: Mapping[str, Any]) -> str:
    if not answer.get("abstained"):
        return str(answer["text"])
    return next((str(passage["text"]) for passage in (answer.get("nearest") or {}).get("passages", ())), "")


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
