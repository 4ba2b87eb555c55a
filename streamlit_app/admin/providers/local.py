"""Models for this machine: three that its memory holds, any other of the hub by its name, downloads, what is here."""

from __future__ import annotations

from functools import partial

import streamlit as st

from chatbot_mvp.api import Connection, HubFile, Offer
from streamlit_app.shared.i18n import Markdown, code, number, plain, t
from streamlit_app.shared.jobs import draw_live, resume_button, show_end, show_progress, stop_button
from streamlit_app.shared.state import confirm, error_text, errors_shown, get_app

_GB = 1e9


def local_panel(connection: Connection) -> None:
    """Draw the models of this machine."""
    if connection.state == "not_installed":
        st.info(t("providers.install", command=code(connection.command)), icon=":material/package_2:")
    models = get_app().local_models
    draw_live(lambda: any(job.active for job in models.jobs()), _jobs)
    _here()
    _own_file()
    memory = models.memory_gb
    st.markdown(f"**{t('local.fitting', memory=number(memory, 1)) if memory else t('local.offers')}**")
    with st.spinner(t("local.asking")):
        offers = models.offers()
    for offer in offers:
        _offer(offer)
    _by_name()


def _jobs() -> None:
    models = get_app().local_models
    for job in models.jobs():
        repo, _, name = job.title.rpartition("/")
        if job.active:
            show_progress(job)
            stop_button(job, f"stop-{job.job_id}", partial(models.stop, job.job_id))
        elif job.state != "done":
            show_end(job, stopped=t("local.stopped", name=job.title))
            resume_button(f"resume-{job.job_id}", partial(models.start, repo, name))


def _here() -> None:
    models = get_app().local_models
    for one in models.here():
        text, use, delete = st.columns([6, 2, 2], vertical_alignment="center")
        mark = f" :green-badge[{t('admin.kb_active')}]" if one.in_use else ""
        text.markdown(f"{code(one.name)} · {_size(one.size_bytes)}{mark}")
        if use.button(t("providers.use"), key=f"use-{one.name}", disabled=one.in_use, width="stretch"):
            with errors_shown():
                models.use(one.name)
                st.rerun()
        if delete.button(t("admin.kb_delete"), key=f"delete-{one.name}", icon=":material/delete:", width="stretch"):
            sure = t("local.delete_ask", name=one.name, size=_size(one.size_bytes))
            confirm(t("admin.kb_delete"), sure, "local-delete-yes", partial(models.delete, one.name))


def _own_file() -> None:
    """Choose a file that is on this machine, by its path or by that of a folder above it."""
    with st.expander(t("local.own"), icon=":material/folder_open:"):
        place = st.text_input(t("local.own_place"), key="local_place", help=t("local.own_help")).strip()
        if not place:
            return
        with errors_shown():
            sizes = {str(path): path.stat().st_size for path in get_app().local_models.below(place)}
            path = st.selectbox(
                t("local.file"),
                list(sizes),
                format_func=lambda one: f"{one} · {_size(sizes[one])}",
                key=f"local-own-{place}",
            )
            if st.button(t("providers.use"), key="local_own_use", type="primary"):
                get_app().local_models.use(path)
                st.rerun()


def _offer(offer: Offer) -> None:
    text, get = st.columns([6, 3], vertical_alignment="center")
    text.markdown(f"**{plain(offer.name.removesuffix('.gguf'))}**")
    if offer.file:
        text.caption(_facts(offer.file))
    elif offer.problem:
        text.markdown(f":small[:orange[{error_text(offer.problem)}]]")
    if not offer.here:
        with get:
            _download(offer.repo, offer.name, disabled=offer.file is None)


def _by_name() -> None:
    with st.expander(t("local.by_name"), icon=":material/search:"):
        asked = st.text_input(t("local.repo"), placeholder="Qwen/Qwen2.5-1.5B-Instruct-GGUF", key="local_repo").strip()
        if not asked:
            return
        with errors_shown(), st.spinner(t("local.asking")):
            files = {file.name: file for file in get_app().local_models.files(asked)}
            name = st.selectbox(t("local.file"), list(files), key=f"local-file-{asked}")
            st.caption(_facts(files[name]))
            _download(asked, name)


def _download(repo: str, name: str, disabled: bool = False) -> None:
    label = t("local.download")
    key = f"download-{repo}-{name}"
    if st.button(label, key=key, icon=":material/download:", width="stretch", disabled=disabled):
        with errors_shown():
            get_app().local_models.start(repo, name)
            st.rerun()


def _facts(file: HubFile) -> str:
    licence = plain(file.license) if file.license else t("admin.data.not_stated")
    return t("local.facts", size=_size(file.size_bytes), license=licence, repo=file.repo, sha256=f"{file.sha256[:12]}…")


def _size(size_bytes: int) -> str:
    return Markdown(f"{number(size_bytes / _GB, 2)} GB")
