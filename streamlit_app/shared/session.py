"""The visitor's name, which comes from a signed cookie or from a sign-in alone, and the visitor's conversations."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Conversation, KbRecord, LiveTurn
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import identity_of
from streamlit_app.shared.permissions import is_logged_in
from streamlit_app.shared.state import get_app
from streamlit_app.web.presence import PRESENCE
from streamlit_app.web.visitor import new_visitor, visitor_cookie


def keep_session() -> None:
    """Find out who the visitor is.

    Called on every page. A browser that keeps no cookie gets a name for as long as its page is open.
    """
    vouched = _visitor()
    if st.session_state.get("visitor_vouched", vouched) != vouched:
        # Streamlit continues a session whose connection was cut for whoever names its id, with all that it knows.
        st.session_state.clear()
    st.session_state.visitor_vouched = vouched
    st.session_state.chat_session = vouched or st.session_state.get("chat_session") or new_visitor()
    PRESENCE.note(session_name())


def _visitor() -> str:
    """Return the name that the sign-in or the cookie vouches for; "" for none."""
    cookie = visitor_cookie(get_app().settings.visitor_key_path)
    identity = identity_of(st.user.to_dict()) if is_logged_in() else ""
    return cookie.person(identity) if identity else cookie.visitor(dict(st.context.cookies))


def session_name() -> str:
    """Return the visitor's name, which conversations and uploads belong to."""
    return str(st.session_state.chat_session)


def conversations(kb: KbRecord) -> list[Conversation]:
    """Return the session's conversations with a knowledge base, newest first."""
    return get_app().chat.conversations(session_name(), kb.kb_id)


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
        return get_app().chat.watched(session_name(), chosen) if chosen else (None, {})
    except ChatbotError:
        return None, {}


def choose(kb: KbRecord, conversation_id: str) -> None:
    """Choose the conversation to continue; "" for a new one, which is created with its first question."""
    _chosen()[kb.kb_id] = conversation_id


def begin_conversation(kb: KbRecord) -> str:
    """Create a conversation and return its id."""
    conversation_id = get_app().chat.start(session_name(), kb.kb_id, kb.kb_name)
    choose(kb, conversation_id)
    return conversation_id


def _chosen() -> dict[str, str]:
    chosen: dict[str, str] = st.session_state.setdefault("chat_conversations", {})
    return chosen
