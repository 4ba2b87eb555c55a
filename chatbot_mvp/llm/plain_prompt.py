"""Messages as one text, for models that know no roles."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.llm.base import Message

_LABELS = {"system": "", "user": "Input: ", "assistant": "Output: "}


def plain_prompt(messages: Sequence[Message]) -> str:
    """Return messages as one text that ends where the reply begins. A single message stays as it is."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join([*(_LABELS[message.role] + message.content for message in messages), "Output: "])
