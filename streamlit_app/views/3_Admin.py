"""Knowledge bases, data sets, runs in the background, the provider that answers, and the settings."""

import streamlit as st

from streamlit_app.ui.datasets import datasets_section
from streamlit_app.ui.guard import require_admin
from streamlit_app.ui.i18n import t
from streamlit_app.ui.jobs import job_panel
from streamlit_app.ui.kb_list import kb_list
from streamlit_app.ui.kb_upload import sample_button, upload_box, upload_panel
from streamlit_app.ui.launcher import launcher
from streamlit_app.ui.providers import cache_section, providers_section
from streamlit_app.ui.ragas_launcher import ragas_launcher
from streamlit_app.ui.settings_section import settings_section


def kb_section() -> None:
    """Upload, sample, list."""
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        upload_box("admin")
    with sample:
        sample_button()
    upload_panel()
    kb_list()


st.title(t("nav.admin"))
require_admin()
kb_tab, data_tab, run_tab, ragas_tab, provider_tab, settings_tab = st.tabs(
    [t("admin.kb"), t("admin.data"), t("admin.benchmark"), t("admin.ragas"), t("admin.providers"), t("admin.settings")]
)
with kb_tab:
    kb_section()
with data_tab:
    datasets_section()
with run_tab:
    launcher()
    st.subheader(t("job.title"))
    job_panel()
with ragas_tab:
    ragas_launcher()
    st.subheader(t("job.title"))
    job_panel("ragas-")
with provider_tab:
    providers_section()
    cache_section()
with settings_tab:
    settings_section()
