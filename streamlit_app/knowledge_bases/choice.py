"""Chooses the knowledge base of a page, or those that the chat asks, or lets the user add one there."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from chatbot_mvp.api import KbRecord
from streamlit_app.knowledge_bases.upload import sample_button, upload_box
from streamlit_app.knowledge_bases.upload_progress import upload_panel
from streamlit_app.shared.i18n import t
from streamlit_app.shared.session import also_key, chosen_kbs
from streamlit_app.shared.state import active_kb, get_app, kb_names


def require_kb(place: str, missing: str) -> KbRecord:
    """Return the session's knowledge base. If there is none, draw the ways to add one and stop the page.

    Args:
        place: makes the widget keys unique per page.
        missing: text to show if there is none.
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
    """Draw a list of all knowledge bases with ``active`` selected; return the choice, which the session keeps.

    Args:
        where: container to draw in.
        width: width in pixels; None for the full width.
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


def choose_several(where: DeltaGenerator, active: KbRecord) -> list[KbRecord]:
    """Draw ``choose_kb`` and, if there are others, a list of those to ask as well; return all that are chosen."""
    kb = choose_kb(where, active, width=210)
    records = get_app().kbs.records()
    if len(records) > 1:
        key, names = also_key(kb.kb_id), kb_names(records)
        # Written again, because Streamlit drops a widget's value when its page is left.
        st.session_state[key] = [other.kb_id for other in chosen_kbs()[1:]]
        where.multiselect(
            t("chat.also"),
            [record.kb_id for record in records if record.kb_id != kb.kb_id],
            key=key,
            format_func=names.__getitem__,
            placeholder=t("chat.also_none"),
            help=t("chat.also_help"),
            width=230,
        )
    return chosen_kbs()
