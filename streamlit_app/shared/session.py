"""The visitor's name, which comes from a signed cookie or from a sign-in alone, and the visitor's conversations.

The address of Chat names its knowledge bases and its conversation (``?kb=ID&kb=ID&c=ID``; no ``c`` for a new one), so
that a reload, a bookmark and the browser's *back* find both. It opens them to their owner alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import Conversation, KbRecord, LiveTurn
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import identity_of
from streamlit_app.shared.permissions import is_logged_in
from streamlit_app.shared.state import active_kb, get_app
from streamlit_app.web.presence import PRESENCE
from streamlit_app.web.visitor import new_visitor, visitor_cookie

FILTERS_BEGUN = "chat_filters"
"""Key of the session's state: how often the choice of documents was begun anew, as with each conversation."""


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
    """Return the session's conversations that ask a knowledge base, the one that was last asked first."""
    return get_app().chat.conversations(session_name(), kb.kb_id)


def chosen_kbs() -> list[KbRecord]:
    """Return the knowledge bases that the chat asks, the session's first; empty if there is none at all."""
    active = active_kb()
    if active is None:
        return []
    records = {record.kb_id: record for record in get_app().kbs.records()}
    also = st.session_state.get(also_key(active.kb_id)) or ()
    return [active, *(records[kb_id] for kb_id in also if kb_id in records and kb_id != active.kb_id)]


def choose_kbs(kb_ids: Sequence[str]) -> None:
    """Let the session's chat ask these knowledge bases, which are there; the first one is the session's."""
    st.session_state.kb_id = kb_ids[0]
    st.session_state[also_key(kb_ids[0])] = list(kb_ids[1:])


def also_key(kb_id: str) -> str:
    """Return the key of the session's state that has the ids of what is asked besides a knowledge base."""
    return f"chat-also-{kb_id}"


def current_conversation(kbs: Sequence[KbRecord]) -> tuple[Conversation | None, dict[str, LiveTurn]]:
    """Return the chosen conversation with these knowledge bases, else the last one, and its unfinished answers by turn.

    The conversation is None before the first question, and in a new conversation.
    """
    ids = _ids(kbs)
    chosen = _chosen().get(ids)
    if chosen is None:
        found = (head.conversation_id for head in get_app().chat.heads(session_name()) if ids == set(head.kb_ids))
        chosen = _chosen()[ids] = next(found, "")
    try:
        return get_app().chat.watched(session_name(), chosen) if chosen else (None, {})
    except ChatbotError:
        return None, {}


def new_conversation() -> None:
    """Let the next question begin a conversation."""
    _turn_to("")
    _ask_all_documents()
    if kbs := chosen_kbs():
        _chosen()[_ids(kbs)] = ""


def open_conversation(conversation_id: str) -> bool:
    """Open a conversation of the session with its knowledge bases; return whether there is one of that id."""
    try:
        found = get_app().chat.conversation(session_name(), conversation_id)
    except ChatbotError:
        return False
    _ask_all_documents()
    known = {record.kb_id for record in get_app().kbs.records()}
    if known.issuperset(found.kb_ids):
        _turn_to("")
        choose_kbs(found.kb_ids)
        _chosen()[frozenset(found.kb_ids)] = conversation_id
    else:
        _turn_to(conversation_id)
    return True


def conversation_to_read() -> Conversation | None:
    """Return the open conversation if one of its knowledge bases is gone: it can be read, but not continued.

    It is open until another conversation is, or until another knowledge base is chosen on any page.
    """
    conversation_id, chosen = st.session_state.get("chat_reading", ("", None))
    if chosen != st.session_state.get("kb_id"):
        return None
    try:
        found = get_app().chat.conversation(session_name(), conversation_id) if conversation_id else None
    except ChatbotError:  # deleted in another tab
        return None
    known = {record.kb_id for record in get_app().kbs.records()}
    return None if found is None or known.issuperset(found.kb_ids) else found  # a deletion may have been undone


def begin_conversation(kbs: Sequence[KbRecord]) -> str:
    """Create a conversation and return its id."""
    first, *others = kbs
    names = {other.kb_id: other.kb_name for other in others}
    conversation_id = get_app().chat.start(session_name(), first.kb_id, first.kb_name, names)
    _turn_to("")
    _chosen()[_ids(kbs)] = conversation_id
    return conversation_id


def follow_address() -> str:
    """Open what the address names, if it is not what the page has last written there.

    A new session without an address goes on with the visitor's last conversation.

    Returns:
        Key of the text that says what it names in vain, until something else is chosen; "" if there is nothing to say.
    """
    if "kb_id" not in st.session_state:
        _open_last()
    asked = (tuple(st.query_params.get_all("kb")), st.query_params.get("c", ""))
    if not any(asked) or asked == st.session_state.get("chat_address"):
        return str(st.session_state.get("chat_in_vain", ""))
    kb_ids, conversation_id = asked
    if conversation_id and open_conversation(conversation_id):
        return ""
    known = {record.kb_id for record in get_app().kbs.records()}
    if found := [kb_id for kb_id in dict.fromkeys(kb_ids) if kb_id in known]:
        choose_kbs(found)
    new_conversation()
    in_vain = "talk.no_such" if conversation_id else "" if found else "talk.no_such_kb"
    st.session_state.chat_in_vain = in_vain
    return in_vain


def write_address(kb_ids: Sequence[str], conversation: Conversation | None) -> None:
    """Set the address of Chat to its knowledge bases and its conversation."""
    wanted = (tuple(kb_ids), conversation.conversation_id if conversation else "")
    st.session_state.chat_address = wanted
    if (tuple(st.query_params.get_all("kb")), st.query_params.get("c", "")) != wanted:
        st.query_params["kb"] = list(kb_ids)
        if conversation is None:
            st.query_params.pop("c", None)
        else:
            st.query_params["c"] = conversation.conversation_id


def _open_last() -> None:
    """Open the conversation that the visitor asked last, if its knowledge bases are there."""
    known = {record.kb_id for record in get_app().kbs.records()}
    heads = get_app().chat.heads(session_name())
    if last := next((head for head in heads if head.turns and known.issuperset(head.kb_ids)), None):
        open_conversation(last.conversation_id)


def _ask_all_documents() -> None:
    st.session_state[FILTERS_BEGUN] = st.session_state.get(FILTERS_BEGUN, 0) + 1


def _turn_to(conversation_id: str) -> None:
    """Note which conversation is only read, "" for none, and that the address has been answered."""
    st.session_state.chat_reading = conversation_id, st.session_state.get("kb_id")
    st.session_state.chat_in_vain = ""


def _ids(kbs: Sequence[KbRecord]) -> frozenset[str]:
    return frozenset(kb.kb_id for kb in kbs)


def _chosen() -> dict[frozenset[str], str]:
    """Return the ids of what is asked -> the conversation that the session has chosen; "" for a new one."""
    chosen: dict[frozenset[str], str] = st.session_state.setdefault("chat_conversations", {})
    return chosen
