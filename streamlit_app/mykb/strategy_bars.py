"""The strategies over the questions of a result as bars, and a button that measures those that are missing."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord, KbResult
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.jobs import busy
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import show_picture
from streamlit_app.pictures.strategies import strategies_picture
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.state import errors_shown, get_app


def show_strategies(kb: KbRecord, result: KbResult) -> None:
    """Draw the bars as far as there are runs."""
    evaluation = get_app().kb_evaluation
    found = evaluation.strategies(result.result_id)
    picture = strategies_picture(f"strategies-{result.result_id[:15]}", found, result.result_id, palette())
    if picture is not None:
        show_picture(picture, headed=False)
    if not found.missing or not result.set_id:
        return
    if st.button(
        t("picture.strategies_start", count=number(len(found.missing))),
        icon=":material/play_arrow:",
        key="mykb_strategies",
        **guarded(
            Action.MEASURE,
            t("picture.strategies_help", strategies="; ".join(map(spoken, found.missing))),
            disabled=busy(kb),
        ),
    ):
        with errors_shown():
            evaluation.start_strategies(kb.kb_id, result.set_id, found.missing)
            st.rerun()
