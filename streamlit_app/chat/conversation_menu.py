"""Menu of a conversation: start a new one, open an earlier one, export, delete."""

from __future__ import annotations

from functools import partial

import streamlit as st

from chatbot_mvp.api import Conversation, KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import current_language, moment, t
from streamlit_app.shared.session import choose, conversations
from streamlit_app.shared.state import get_app


def conversation_menu(kb: KbRecord, current: Conversation | None) -> None:
    """Draw the popover."""
    with st.popover(t("talk.title"), icon=":material/history:", width="stretch"):
        st.button(
            t("talk.new"),
            icon=":material/add_comment:",
            width="stretch",
            disabled=current is None,
            on_click=choose,
            args=(kb, ""),
        )
        _earlier(kb, current)
        if current is None or not current.turns:
            return
        _export(current)
        st.button(
            t("chat.clear"),
            icon=":material/delete_sweep:",
            type="tertiary",
            on_click=_delete,
            args=(kb, current),
            **guarded(Action.DELETE_CONVERSATION),
        )


def _earlier(kb: KbRecord, current: Conversation | None) -> None:
    found = {conversation.conversation_id: conversation for conversation in conversations(kb)}
    others = [conversation_id for conversation_id in found if not current or conversation_id != current.conversation_id]
    if not others:
        return

    def label(conversation_id: str) -> str:
        title = found[conversation_id].title
        return f"{moment(found[conversation_id].started_at)} · {title[:60]}"

    chosen = st.selectbox(t("talk.earlier"), others, index=None, format_func=label, placeholder=t("talk.choose"))
    if chosen:
        choose(kb, chosen)
        st.rerun()


def _export(current: Conversation) -> None:
    service, language = get_app().chat, current_language()
    place = (current.session, current.conversation_id)
    for form, suffix, mime in (("markdown", "md", "text/markdown"), ("json", "json", "application/json")):
        st.download_button(
            t(f"talk.export.{form}"),
            # Built on click, not each time the page is drawn.
            data=partial(service.export, *place, form, language),
            file_name=f"{current.kb_id}-{current.conversation_id}.{suffix}",
            mime=mime,
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )


def _delete(kb: KbRecord, current: Conversation) -> None:
    get_app().chat.delete(current.session, current.conversation_id)
    choose(kb, "")
