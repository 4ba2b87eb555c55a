"""Read the conversation before a question, as data sets and files of questions have it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.types import PastTurn

_ASKS, _ANSWERS = "user", ("assistant", "agent")
_TEXTS = ("text", "content")


def read_history(value: Any) -> tuple[PastTurn, ...]:
    """Read messages, oldest first: {role: user or assistant, text or content}, as a list or as JSON of one.

    Messages of one side that follow each other are one text. None and "" are no history.

    Raises:
        ValueError: says which message has which fault.
    """
    if isinstance(value, str) and value.strip():
        try:
            value = parse_json(value)
        except ValueError as error:
            raise ValueError(f"the history is no JSON: {error}") from error
    if not value:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"the history is {type(value).__name__}; legal: a list of messages")  # noqa: TRY004
    turns: list[PastTurn] = []
    for number, message in enumerate(value, 1):
        role, text = _message(number, message)
        if role != _ASKS:
            if not turns:
                raise ValueError(f"message {number} of the history answers, and nothing was asked before it")
            turns[-1] = PastTurn(turns[-1].question, f"{turns[-1].answer}\n{text}".strip())
        elif turns and not turns[-1].answer:
            turns[-1] = PastTurn(f"{turns[-1].question}\n{text}", "")
        else:
            turns.append(PastTurn(text, ""))
    return tuple(turns)


def history_json(history: Sequence[PastTurn]) -> list[dict[str, str]]:
    """Return the messages that ``read_history`` reads."""
    return [
        {"role": role, "text": text}
        for turn in history
        for role, text in ((_ASKS, turn.question), (_ANSWERS[0], turn.answer))
        if text
    ]


def history_text(history: Sequence[PastTurn]) -> str:
    """Return ``history_json`` as one text, for files of tables; "" for no history."""
    return json.dumps(history_json(history), ensure_ascii=False) if history else ""


def _message(number: int, message: Any) -> tuple[str, str]:
    legal = "legal: {role: user or assistant, text}"
    if not isinstance(message, Mapping):
        raise ValueError(f"message {number} of the history is no object; {legal}")  # noqa: TRY004
    role = message.get("role")
    text = next((message[name] for name in _TEXTS if isinstance(message.get(name), str)), None)
    if role not in (_ASKS, *_ANSWERS) or text is None:
        raise ValueError(
            f"message {number} of the history has the role {role!r} and no more than {sorted(message)}; {legal}"
        )
    # JSON can contain a lone surrogate, which cannot be written as UTF-8.
    return role, text.encode("utf-8", "replace").decode()
