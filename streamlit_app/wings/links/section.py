"""The link to an answer, and the page that it opens."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Conversation, Turn
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.wings.links.service import AnswerLinks
from streamlit_app.chat.answers import show_answer
from streamlit_app.chat.outcomes import outcome_words
from streamlit_app.chat.sharing import page_address
from streamlit_app.chat.source_pane import anchor_of
from streamlit_app.shared.i18n import moment, t
from streamlit_app.shared.session import session_name
from streamlit_app.shared.sources import show_sources
from streamlit_app.shared.state import PAGES, errors_shown, get_app, show_error
from streamlit_app.shared.style import MARK

_ADDRESS = "answer"
"""Name in the address of what opens an answer."""


def show_link(conversation: Conversation, turn: Turn) -> None:
    """Draw the link to a message of one's own, or the button that makes one; nothing where links are off."""
    links = get_app().get(AnswerLinks)
    if links.days and conversation.session == session_name():
        st.fragment(_draw_link)(links, conversation, turn)  # so that the box stays open over a click


def _draw_link(links: AnswerLinks, conversation: Conversation, turn: Turn) -> None:
    st.markdown(t("links.about"))
    link = links.link_to(conversation.session, conversation.conversation_id, turn.turn_id)
    if link is None:
        st.button(
            t("links.make"),
            key=f"link-make-{turn.turn_id}",
            icon=":material/link:",
            on_click=_make,
            args=(conversation, turn),
        )
        return
    st.code(page_address("Chat", **{_ADDRESS: link.token}), language=None, wrap_lines=True)
    st.caption(t("links.ends", when=moment(link.ends_at)))
    st.button(
        t("links.withdraw"),
        key=f"link-end-{turn.turn_id}",
        icon=":material/link_off:",
        on_click=_withdraw,
        args=(conversation, turn),
    )


def show_opened() -> None:
    """Draw the answer that the address has a link to, in place of the chat; nothing without a link."""
    token = st.query_params.get(_ADDRESS, "")
    if not token:
        return
    try:
        shared = get_app().get(AnswerLinks).shared_by(token)
    except ChatbotError as error:
        show_error(error)
    else:
        turn, answer = shared.turn, shared.turn.answer
        names = ", ".join(f"«{name}»" for name in shared.kb_names)
        st.caption(f":material/visibility: {t('links.opened', names=names, when=moment(shared.ends_at))}")
        with st.chat_message("user", avatar=":material/person:"):
            st.text(turn.question)
        if answer is not None:
            with st.chat_message("assistant", avatar=str(MARK)):
                show_answer(turn, answer, asks=False)
                if answer.chosen or turn.answer_in:
                    st.caption(f":material/touch_app: {t('links.unchecked')}")
                elif words := outcome_words(turn, answer):
                    st.caption(words)
                show_sources(answer.sources, anchor_of(turn))
    st.page_link(PAGES["chat"][0], label=t("links.to_chat"), icon=":material/forum:")
    st.stop()


def _make(conversation: Conversation, turn: Turn) -> None:
    with errors_shown():
        get_app().get(AnswerLinks).make(conversation.session, conversation.conversation_id, turn.turn_id)


def _withdraw(conversation: Conversation, turn: Turn) -> None:
    with errors_shown():
        get_app().get(AnswerLinks).withdraw(conversation.session, conversation.conversation_id, turn.turn_id)
