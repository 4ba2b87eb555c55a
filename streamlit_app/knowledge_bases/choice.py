"""Which knowledge base a page is about: chosen of those that there are, or brought in place."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from chatbot_mvp.api import KbRecord
from streamlit_app.knowledge_bases.upload import sample_button, upload_box, upload_panel
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import active_kb, get_app, kb_names


def require_kb(place: str, missing: str) -> KbRecord:
    """The session's knowledge base; without any, the page ends here with the ways to one.

    Args:
        place: tells the widgets of two pages apart.
        missing: what is said then.
    """
    active = active_kb()
    if active is None:
        _bring_one(place, missing)
    return active


def _bring_one(place: str, missing: str) -> NoReturn:
    st.info(missing, icon=":material/info:")
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        upload_box(place)
    with sample:
        sample_button()
        if active_kb() is not None:
            st.rerun()
    upload_panel()
    st.stop()


def choose_kb(where: DeltaGenerator, active: KbRecord, width: int | None = None) -> KbRecord:
    """A list of all, in which ``active`` is chosen; what is chosen becomes the session's.

    Args:
        width: in pixels; None for all that there is.
    """
    records = {record.kb_id: record for record in get_app().kbs.records()}
    kb = records[
        where.selectbox(
            t("chat.kb"),
            list(records),
            index=list(records).index(active.kb_id),
            format_func=kb_names(list(records.values())).__getitem__,
            width=width or "stretch",
        )
    ]
    st.session_state.kb_id, st.session_state.kb_name = kb.kb_id, kb.kb_name
    return kb
