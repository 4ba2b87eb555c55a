"""Admin: knowledge bases, data sets, background runs, providers and settings."""

from collections.abc import Callable

import streamlit as st

from streamlit_app.admin.datasets import datasets_section
from streamlit_app.admin.launcher import launcher
from streamlit_app.admin.providers import cache_section, providers_section
from streamlit_app.admin.ragas_launcher import ragas_launcher
from streamlit_app.admin.settings_section import settings_section
from streamlit_app.admin.tune_section import tune_section
from streamlit_app.knowledge_bases.listing import kb_list
from streamlit_app.knowledge_bases.upload import sample_button, upload_box, upload_panel
from streamlit_app.shared.guard import require_admin
from streamlit_app.shared.i18n import t
from streamlit_app.shared.jobs import job_panel
from streamlit_app.shared.state import get_app


def kb_section() -> None:
    """Draw upload, sample and list of knowledge bases."""
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        upload_box("admin")
    with sample:
        sample_button()
    upload_panel(everyone=True)
    kb_list()


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


st.title(t("nav.admin"))
require_admin()
kb_tab, data_tab, run_tab, tune_tab, ragas_tab, provider_tab, settings_tab = st.tabs(
    [t(f"admin.{name}") for name in ("kb", "data", "benchmark", "tune", "ragas", "providers", "settings")]
)
with kb_tab:
    kb_section()
with data_tab:
    datasets_section()
with run_tab:
    with_jobs(launcher)
with tune_tab:
    tune_section()
with ragas_tab:
    with_jobs(ragas_launcher, "ragas-")
with provider_tab:
    providers_section()
    cache_section()
with settings_tab:
    settings_section()
