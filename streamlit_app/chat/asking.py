"""What a click on the page Chat asks next, and which branch of a conversation is shown."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import streamlit as st

from chatbot_mvp.api import Conversation, UserContext
from chatbot_mvp.types import Chunk
from streamlit_app.knowledge_bases.upload_progress import dismiss_seen

_ANOTHER_TEMPERATURE = 0.7
"""Temperature of an answer that is asked for once more, where the settings have 0: that would give the same again."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, and what it differs in from one that is typed."""

    question: str
    after: str | None = None
    """As in ``ChatSessions.begin``."""
    passage: Chunk | None = None
    """As in ``UserContext``."""
    answer_in: str = ""
    """As in ``UserContext``."""
    is_reading: bool = False
    """As in ``UserContext``."""
    again: bool = False
    """Whether another answer to the same question is wanted."""

    def context(self, chosen: UserContext, temperature: float) -> UserContext:
        """Return the options of the question: those that are chosen on the page, with its own.

        Args:
            temperature: of answers, by the settings.
        """
        found = replace(chosen, passage=self.passage, answer_in=self.answer_in, is_reading=self.is_reading)
        if self.again:
            another = temperature or _ANOTHER_TEMPERATURE
            found = replace(found, llm_temperature=another, seed=secrets.randbelow(2**31))
        return found


def ask(asking: Asking) -> None:
    """Ask this in the script run that follows: for ``on_click``."""
    st.session_state.chat_asking = asking
    st.session_state.pop("chat_editing", None)
    dismiss_seen()


def take_asking() -> Asking | None:
    """Return what a click has asked, once."""
    asking: Asking | None = st.session_state.pop("chat_asking", None)
    return asking


def show_branch(conversation_id: str, turn_id: str) -> None:
    """Show the branch of a turn from now on; "" for the one of the newest question."""
    st.session_state[f"chat_branch-{conversation_id}"] = turn_id


def shown_branch(conversation: Conversation) -> str:
    """Return the turn whose branch is shown; "" for the newest question's."""
    return str(st.session_state.get(f"chat_branch-{conversation.conversation_id}", ""))


def place_of(asking: Asking, conversation: Conversation) -> str | None:
    """Return the turn that a question follows: the last one of the branch that is shown, unless it names another.

    A passage chosen below an old answer is answered from at the end: in the place of that answer, it would
    hide what follows.
    """
    shown = conversation.branch(shown_branch(conversation))
    after = asking.after
    if asking.passage is not None and shown and shown[-1].after != after:
        after = None
    if after is not None or not shown or shown == conversation.branch():
        return after
    return shown[-1].turn_id
