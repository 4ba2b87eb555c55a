"""A form that starts runs, with the jobs of runs beside it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from streamlit_app.shared.i18n import t
from streamlit_app.shared.jobs import job_panel
from streamlit_app.shared.state import get_app


def with_jobs(show_launcher: Callable[[], bool], place: str = "") -> None:
    """A launcher and the jobs: above it while one is active and once this session has launched one, else below.

    Args:
        show_launcher: draws the form; True when it has just launched something.
        place: tells the widgets of two panels on one page apart.
    """
    above = st.session_state.get("has_launched") or any(job.active for job in get_app().runs.jobs())
    if st.session_state.pop(f"{place}just_launched", False):
        # In view in any window, whatever the launcher's height.
        st.toast(t("job.launched"), icon=":material/play_circle:")
    if above:
        st.subheader(t("job.title"), anchor=f"{place}jobs")
        job_panel(place)
    if show_launcher():
        st.session_state["has_launched"] = st.session_state[f"{place}just_launched"] = True
        st.rerun()
    if above:
        st.markdown(f":material/arrow_upward: [{t('job.above')}](#{place}jobs)")
    else:
        st.subheader(t("job.title"))
        job_panel(place)
