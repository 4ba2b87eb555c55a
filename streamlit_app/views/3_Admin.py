"""Admin: knowledge bases, data sets, background runs, providers and settings."""

import streamlit as st

from streamlit_app.admin.datasets import datasets_section
from streamlit_app.admin.launcher import launcher
from streamlit_app.admin.providers import cache_section, providers_section
from streamlit_app.admin.ragas_launcher import ragas_launcher
from streamlit_app.admin.settings_section import settings_section
from streamlit_app.knowledge_bases.listing import kb_list
from streamlit_app.knowledge_bases.upload import sample_button, upload_box, upload_panel
from streamlit_app.shared.guard import require_admin
from streamlit_app.shared.i18n import t
from streamlit_app.shared.jobs import job_panel


def kb_section() -> None:
    """Draw upload, sample and list of knowledge bases."""
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
