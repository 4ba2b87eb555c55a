"""The session's name and its conversations. The name stands in the address, so that a reload finds them again."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Conversation, KbRecord, LiveTurn
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.state import get_app


def keep_session() -> None:
    """On every page: take the session's name from the address after a reload, and keep it there."""
    given = st.query_params.get("s", "")
    if "chat_session" not in st.session_state and get_app().chat.is_session(given):
        st.session_state.chat_session = given
    if "chat_session" in st.session_state:
        st.query_params["s"] = st.session_state.chat_session
    elif given:
        del st.query_params["s"]


def conversations(kb: KbRecord) -> list[Conversation]:
    """The session's conversations with a knowledge base, the newest first."""
    session = st.session_state.get("chat_session", "")
    return get_app().chat.conversations(session, kb.kb_id) if session else []


def current_conversation(kb: KbRecord) -> tuple[Conversation | None, dict[str, LiveTurn]]:
    """The chosen conversation, else the newest, with its answers on their way by turn.

    None before the first question and in a new one.
    """
    chosen = _chosen().get(kb.kb_id)
    if chosen is None:
        found = conversations(kb)
        chosen = found[0].conversation_id if found else ""
        _chosen()[kb.kb_id] = chosen
    try:
        return get_app().chat.watched(st.session_state.chat_session, chosen) if chosen else (None, {})
    except ChatbotError:
        return None, {}


def choose(kb: KbRecord, conversation_id: str) -> None:
    """Go on with a conversation; "" for a new one, which begins with its first question."""
    _chosen()[kb.kb_id] = conversation_id


def begin_conversation(kb: KbRecord) -> str:
    """A new conversation's id; gives the session its name if it has none."""
    if "chat_session" not in st.session_state:
        st.session_state.chat_session = get_app().chat.new_session()
        keep_session()
    conversation_id = get_app().chat.start(st.session_state.chat_session, kb.kb_id, kb.kb_name)
    choose(kb, conversation_id)
    return conversation_id


def _chosen() -> dict[str, str]:
    chosen: dict[str, str] = st.session_state.setdefault("chat_conversations", {})
    return chosen
