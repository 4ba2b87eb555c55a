"""What is said of a knowledge base that is ready."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app


def show_added(record: KbRecord) -> None:
    """Show that a knowledge base is ready."""
    st.success(
        t("admin.kb_added", name=plain(record.kb_name), language=languages_of(record)), icon=":material/check_circle:"
    )
    if len(record.files) > 1 and may(Action.CHANGE_KB):
        key = f"added-name-{record.kb_id}-{record.kb_name}"
        name = st.text_input(t("admin.data.col.name"), record.kb_name, max_chars=120, key=key)
        if name.strip() and name != record.kb_name:
            with errors_shown():
                if get_app().kbs.rename(record.kb_id, name).kb_name != record.kb_name:  # blanks change nothing
                    st.rerun()


def languages_of(record: KbRecord) -> str:
    """Return the languages in which a knowledge base is written."""
    return ", ".join(t(f"admin.choice.{language}") for language in record.languages)


def tell_incomplete(record: KbRecord) -> None:
    """Say how much of a knowledge base was kept, if it was too long, and which documents cannot be read."""
    if lost := get_app().kbs.lost(record.kb_id):
        st.warning(t("kb.lost", documents=plain(", ".join(lost))), icon=":material/warning:")
    if record.kb_truncated:
        kept, original = number(record.chars), number(record.original_chars)
        st.warning(t("kb.truncated", kept=kept, original=original), icon=":material/content_cut:")
