"""Chooses the knowledge base of a page, or lets the user add one there."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from chatbot_mvp.api import KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.knowledge_bases.upload import sample_button, upload_box
from streamlit_app.knowledge_bases.upload_progress import upload_panel
from streamlit_app.shared.guard import offer_undo
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import active_kb, get_app, kb_names


def require_kb(place: str) -> KbRecord:
    """Return the session's knowledge base. If there is none, draw the ways to add one and stop the page.

    Args:
        place: makes the widget keys unique per page.
    """
    active = active_kb()
    if active is None:
        st.info(t("chat.no_kb"), icon=":material/info:")
        show_deleted()
        bring_one(place)
        st.stop()
    return active


def bring_one(place: str) -> None:
    """Draw the ways to add a knowledge base; the page is drawn again when there is one."""
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        upload_box(place)
    with sample:
        sample_button()
        if active_kb() is not None:
            st.rerun()
    upload_panel()


def show_deleted() -> None:
    """Draw the knowledge bases whose deletion can be undone, each with the button that does it."""
    for record in get_app().kbs.deleted():
        offer_undo(record.kb_name, record.kb_id, Action.CHANGE_KB, partial(get_app().kbs.undelete, record.kb_id))


def choose_kb(where: DeltaGenerator, active: KbRecord, width: int | None = None) -> KbRecord:
    """Draw a list of all knowledge bases with ``active`` selected; return the choice, which the session keeps.

    Args:
        where: container to draw in.
        width: width in pixels, without a name above the list; None for the full width, with one.
    """
    records = {record.kb_id: record for record in get_app().kbs.records()}
    kb = records[
        where.selectbox(
            t("chat.kb"),
            list(records),
            index=list(records).index(active.kb_id),
            format_func=kb_names(list(records.values())).__getitem__,
            width=width or "stretch",
            label_visibility="collapsed" if width else "visible",
        )
    ]
    st.session_state.kb_id = kb.kb_id
    return kb
