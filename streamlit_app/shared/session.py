"""The session's name and its conversations. The name is kept in the URL, so that a reload finds them."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Conversation, KbRecord, LiveTurn
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.state import get_app


def keep_session() -> None:
    """Restore the session's name from the URL after a reload, and keep it there. Called on every page."""
    given = st.query_params.get("s", "")
    if "chat_session" not in st.session_state and get_app().chat.is_session(given):
        st.session_state.chat_session = given
    if "chat_session" in st.session_state:
        st.query_params["s"] = st.session_state.chat_session
    elif given:
        del st.query_params["s"]


def session_name(begin: bool = True) -> str:
    """Return the session's name, which its conversations and uploads belong to.

    Args:
        begin: name the session if it has no name yet; otherwise the result is "".
    """
    if begin and "chat_session" not in st.session_state:
        st.session_state.chat_session = get_app().chat.new_session()
        keep_session()
    return str(st.session_state.get("chat_session", ""))


def conversations(kb: KbRecord) -> list[Conversation]:
    """Return the session's conversations with a knowledge base, newest first."""
    session = st.session_state.get("chat_session", "")
    return get_app().chat.conversations(session, kb.kb_id) if session else []


def current_conversation(kb: KbRecord) -> tuple[Conversation | None, dict[str, LiveTurn]]:
    """Return the chosen conversation, else the newest, and its unfinished answers by turn id.

    The conversation is None before the first question, and in a new conversation.
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
    """Choose the conversation to continue; "" for a new one, which is created with its first question."""
    _chosen()[kb.kb_id] = conversation_id


def begin_conversation(kb: KbRecord) -> str:
    """Create a conversation and return its id. Names the session if it has no name yet."""
    conversation_id = get_app().chat.start(session_name(), kb.kb_id, kb.kb_name)
    choose(kb, conversation_id)
    return conversation_id


def _chosen() -> dict[str, str]:
    chosen: dict[str, str] = st.session_state.setdefault("chat_conversations", {})
    return chosen
