"""Knowledge bases, benchmark runs in the background, and the provider that answers."""

import streamlit as st

from chatbot_mvp.app import KbRecord
from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.i18n import moment, number, t
from streamlit_app.ui.jobs import job_panel
from streamlit_app.ui.launcher import launcher
from streamlit_app.ui.providers import cache_section, providers_section
from streamlit_app.ui.ragas_launcher import ragas_launcher
from streamlit_app.ui.state import PAGES, active_kb, get_app, prepare_kb, show_error
from streamlit_app.ui.uploader import translate_uploader


def kb_section() -> None:
    """Upload, sample, list."""
    limit = get_app().settings
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        translate_uploader(t("admin.upload_button"))
        file = st.file_uploader(
            t("admin.upload", limit_mb=limit.kb_max_upload_mb, max_chars=number(limit.kb_max_chars)),
            type=["txt", "md"],
            key="kb_upload",
        )
    with sample:
        st.markdown(t("admin.sample_text"))
        load_sample = st.button(t("admin.sample"), icon=":material/library_add:", key="kb_sample")
    # A rerun offers the same file again: it is taken once.
    if file is not None and st.session_state.get("kb_taken") != file.file_id:
        st.session_state.kb_taken = file.file_id
        add_kb(file.name, file.getvalue())
    if load_sample:
        add_kb(None, b"")
    kb_list()


def add_kb(name: str | None, content: bytes) -> None:
    """Keep an upload, or the sample for None, and build its indexes."""
    try:
        record = get_app().add_sample_kb() if name is None else get_app().add_kb(name, content)
        st.session_state.kb_id, st.session_state.kb_name = record.kb_id, record.kb_name
        prepare_kb(record)
    except ChatbotError as error:
        show_error(error)
        return
    st.success(
        t("admin.kb_added", name=record.kb_name, chars=number(record.chars), language=t(f"lang.{record.language}")),
        icon=":material/check_circle:",
    )


def kb_list() -> None:
    """Every stored knowledge base: what is known of it, its chunks, use, delete."""
    records = get_app().kbs()
    current = active_kb()
    if not records:
        st.caption(t("admin.kb_empty"))
    for record in records:
        with st.container(border=True):
            text, use, delete = st.columns([6, 1.6, 1.4], vertical_alignment="center")
            mark = f" · :green-badge[{t('admin.kb_active')}]" if current and record.kb_id == current.kb_id else ""
            text.markdown(f"**{record.kb_name}**{mark}")
            text.caption(
                t(
                    "admin.kb_line",
                    chars=number(record.chars),
                    language=t(f"lang.{record.language}"),
                    when=moment(record.added_at),
                )
            )
            if use.button(t("admin.kb_use"), key=f"use-{record.kb_id}", icon=":material/forum:", width="stretch"):
                st.session_state.kb_id, st.session_state.kb_name = record.kb_id, record.kb_name
                st.switch_page(PAGES["chat"][0])
            if delete.button(
                t("admin.kb_delete"), key=f"delete-{record.kb_id}", icon=":material/delete:", width="stretch"
            ):
                confirm_delete(record)
            if record.kb_truncated:
                st.warning(
                    t("kb.truncated", kept=number(record.chars), original=number(record.original_chars)),
                    icon=":material/content_cut:",
                )


def confirm_delete(record: KbRecord) -> None:
    """Ask before anything goes."""

    @st.dialog(t("admin.kb_delete_title"))
    def dialog() -> None:
        st.markdown(t("admin.kb_delete_sure", name=record.kb_name))
        if st.button(t("admin.kb_delete"), type="primary", key="delete-yes"):
            get_app().delete_kb(record.kb_id)
            st.rerun()

    dialog()


st.title(t("nav.admin"))
kb_tab, run_tab, ragas_tab, provider_tab = st.tabs(
    [t("admin.kb"), t("admin.benchmark"), t("admin.ragas"), t("admin.providers")]
)
with kb_tab:
    kb_section()
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
