"""How many labelled questions a promise still needs, and the ways to them."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.wings.promise.service import Promises, PromiseState
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.state import get_app

_REVIEW = "review"  # name of the section that a wing may add


def show_promise_progress(kb: KbRecord, level: float, state: PromiseState | None) -> None:
    """Draw how far the labels go, unless the promise is made or more of them would not help.

    Args:
        level: share of wrong answers that is asked for, 0-1.
        state: the latest promise; None before there is one.
    """
    promise = state.promise if state is not None and not state.changed and state.promise.level == level else None
    if promise is not None and not promise.missing:
        return
    unit = promise.unit if promise is not None else "question"
    have = get_app().get(Promises).labelled(kb.kb_id)
    if promise is not None and promise.missing and unit == "document":
        have, missing = promise.documents, promise.missing
    elif promise is not None and promise.missing:
        have, missing = promise.labels, promise.missing
    else:
        missing = max(0, get_app().get(Promises).needed(level) - have)
    if not missing:
        st.caption(t("mykb.promise_enough", count=number(have)))
        return
    said = t(f"mykb.promise_to_go.{unit}", count=number(have), missing=number(missing))
    st.progress(have / (have + missing), said)
    with st.container(horizontal=True):
        for step, icon in (("questions", ":material/edit_note:"), (_REVIEW, ":material/rule:")):
            st.button(
                t(f"mykb.promise_way.{step}"), icon=icon, key=f"mykb_promise_way_{step}", on_click=_go, args=(step,)
            )


def _go(step: str) -> None:
    st.session_state.mykb_step = step
