"""Knobs: values that override the settings for the questions of this session."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord, Mode, UserContext
from streamlit_app.chat.text_check import check_box
from streamlit_app.shared.chat_profile import chat_retrieval, profile_changes, system_choice
from streamlit_app.shared.i18n import current_language, t
from streamlit_app.shared.lasting import following, forget, lasting
from streamlit_app.shared.state import get_app

_NAMES = ("kb_top_k", "kb_min_score", "kb_max_context_chars", "kb_min_evidence", "chat_max_tokens")


def ask_knobs(kb: KbRecord, mode: Mode) -> tuple[UserContext, bool]:
    """Draw the popover; return (current knobs, whether to show search details)."""
    retrieval = chat_retrieval()
    defaults = get_app().answering.defaults(kb.kb_id, retrieval)
    for name in _NAMES:
        following(_key(kb, name), getattr(defaults, name))
    with st.popover(t("admin.settings"), icon=":material/tune:"):
        st.caption(t("chat.mode_help"))
        system_choice()
        st.slider(t("admin.label.kb_top_k"), 1, 50, key=_key(kb, "kb_top_k"), help="kb_top_k")
        least = t("admin.label.kb_min_score")
        st.slider(least, 0.0, 1.0, step=0.05, key=_key(kb, "kb_min_score"), help="kb_min_score")
        st.number_input(
            t("knobs.context"),
            min_value=500,
            max_value=max(50_000, defaults.kb_max_context_chars or 0),
            step=500,
            key=_key(kb, "kb_max_context_chars"),
            help="kb_max_context_chars",
        )
        st.slider(t("knobs.evidence"), 0.0, 1.0, step=0.05, key=_key(kb, "kb_min_evidence"), help="kb_min_evidence")
        st.number_input(
            t("admin.label.llm_max_tokens"),
            min_value=0,
            max_value=32_000,
            step=100,
            key=_key(kb, "chat_max_tokens"),
            help=t("knobs.max_tokens_help"),
        )
        st.button(t("knobs.reset"), icon=":material/restart_alt:", type="tertiary", on_click=_reset, args=(kb,))
        st.divider()
        check_box(kb)
        debug = st.toggle(t("knobs.debug"), key=lasting("chat_debug", False))
    moved = {name: st.session_state[_key(kb, name)] for name in _NAMES}
    chosen = UserContext(mode, current_language(), **moved, retrieval=retrieval)
    return chosen.beyond(defaults), debug


def _key(kb: KbRecord, name: str) -> str:
    changes = profile_changes()
    return f"knob-{name}-{kb.kb_id}" + (f"-{changes}" if changes else "")


def _reset(kb: KbRecord) -> None:
    for name in _NAMES:
        forget(_key(kb, name))
