"""Admin: knowledge bases, data sets, background runs, providers and settings."""

from functools import partial

import streamlit as st

from streamlit_app.admin.datasets import datasets_section
from streamlit_app.admin.launcher import launcher
from streamlit_app.admin.providers.section import providers_section
from streamlit_app.admin.settings_section import settings_section
from streamlit_app.knowledge_bases.listing import kb_list, open_list
from streamlit_app.knowledge_bases.upload import sample_button, upload_box
from streamlit_app.knowledge_bases.upload_progress import upload_panel
from streamlit_app.shared.guard import require_admin
from streamlit_app.shared.i18n import t
from streamlit_app.shared.jobs import with_jobs
from streamlit_app.shared.sections import draw_added, show_tabs

PAGE = "admin", ":material/tune:"


@st.fragment  # what is opened in here must not wait for the other tabs
def kb_section() -> None:
    """Draw deletions that wait for a yes, upload, sample and list of knowledge bases."""
    draw_added("admin-kb")
    opened = open_list()
    if not opened:  # its documents have the box
        upload, sample = st.columns([2, 1], gap="large")
        with upload:
            upload_box("admin")
        with sample:
            sample_button()
    upload_panel(everyone=True, apart=opened)
    kb_list()


st.title(t("nav.admin"))
require_admin()
show_tabs(
    "admin",
    {
        "admin.kb": (10, t("admin.kb"), kb_section),
        "admin.data": (20, t("admin.data"), datasets_section),
        "admin.benchmark": (30, t("admin.benchmark"), partial(with_jobs, launcher)),
        "admin.group.provider": (50, t("admin.group.provider"), providers_section),
        "admin.settings": (60, t("admin.settings"), settings_section),
    },
)
