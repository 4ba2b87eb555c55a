"""The thumbs below an answer and, after a thumb down, what is wrong with it."""

from __future__ import annotations

import html

import streamlit as st

from chatbot_mvp.api import FEEDBACK_REASONS, KINDS, Conversation, Turn
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import errors_shown, get_app, show_error

_UNKNOWN = "unknown"


def ask_rating(conversation: Conversation, turn: Turn) -> None:
    """Draw the thumbs with their last value and, after a thumb down, the button of a form."""
    key = f"thumbs-{turn.turn_id}"
    rated = turn.feedback
    st.feedback(
        "thumbs",
        key=key,
        default=None if rated is None else int(rated.good),
        on_change=_rate,
        args=(conversation, turn, key),
    )
    if rated is not None and not rated.good:
        with st.popover(t("feedback.tell"), icon=":material/edit_note:", key=f"tell-{turn.turn_id}"):
            _form(conversation, turn)


def rating_words(turn: Turn) -> None:
    """Draw what the thumbs ask in strict mode. Below an answer they need no words, except for who cannot see them."""
    if turn.answer is None or turn.mode != "strict":
        return
    said = t(f"feedback.ask.{turn.answer.outcome}")
    if turn.answer.outcome == "answered":
        st.html(f'<span class="chat-unseen">{html.escape(said)}</span>', width="content")
    else:
        st.caption(said, width="content")


def _rate(conversation: Conversation, turn: Turn, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        said = turn.feedback
        given = (said.note, () if value else said.reasons) if said else ("", ())
        with errors_shown():
            get_app().chat.rate(conversation.session, conversation.conversation_id, turn.turn_id, bool(value), *given)


def _form(conversation: Conversation, turn: Turn) -> None:
    said = turn.feedback
    with st.form(f"feedback-{turn.turn_id}", border=False):
        labels = {name: t(f"feedback.reason.{name}") for name in FEEDBACK_REASONS}
        reasons = st.pills(
            t("feedback.reasons"),
            FEEDBACK_REASONS,
            selection_mode="multi",
            default=said.reasons if said else (),
            format_func=labels.__getitem__,
        )
        note = st.text_area(t("feedback.note"), said.note if said else "", max_chars=2_000)
        add = st.checkbox(t("feedback.add"), help=t("feedback.add_help"))
        kinds = {name: t(f"feedback.kind.{name}") for name in (_UNKNOWN, *KINDS)}
        kind = st.selectbox(t("feedback.kind"), list(kinds), format_func=kinds.__getitem__)
        answer = st.text_input(t("feedback.answer"), max_chars=1_000)
        sent = st.form_submit_button(t("feedback.send"))
    if not sent:
        return
    service = get_app().chat
    place = (conversation.session, conversation.conversation_id, turn.turn_id)
    chosen = next((name for name in KINDS if name == kind), None)
    try:
        service.rate(*place, False, note, reasons)
        added = add and service.add_question(*place, chosen, answer)
    except ChatbotError as error:
        show_error(error)
        return
    if not add:
        st.success(t("feedback.thanks"), icon=":material/check_circle:")
        return
    path = service.questions_path(conversation.kb_of(turn))
    st.success(t("feedback.added" if added else "feedback.known", path=path), icon=":material/check_circle:")
