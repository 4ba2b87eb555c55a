"""Admin tab for data sets: list and preview them, add, share and delete them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any

import streamlit as st

from chatbot_mvp.api import Found, JobStatus, ListedDataset
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import offer_undo
from streamlit_app.shared.i18n import moment, number, plain, t
from streamlit_app.shared.jobs import draw_live, show_end, show_progress, stop_button
from streamlit_app.shared.state import confirm, errors_shown, get_app, show_error
from streamlit_app.shared.style import translate_uploader
from streamlit_app.shared.tables import choose_one, draw_table
from streamlit_app.web.uploaded import box_limit


def datasets_section() -> None:
    """Draw the tab."""
    translate_uploader(t("admin.upload_button"))
    _said()
    _job_panel()
    data = get_app().datasets
    listed = {entry.found.reference: entry for entry in data.here()}
    remote = {found.reference: found for found in _remote()}
    draw_table(
        [*(_row(entry.found, entry) for entry in listed.values()), *(_row(found, None) for found in remote.values())],
        {t(f"admin.data.col.{name}"): 200 for name in ("name", "license", "where")},
    )
    for name in data.deleted():
        offer_undo(name, f"data-{name}", Action.CHANGE_DATASETS, partial(data.undelete, name))
    names = {reference: entry.found.name for reference, entry in listed.items()}
    names |= {reference: found.name for reference, found in remote.items()}
    chosen = choose_one(t("admin.data.look"), names, "data_look")
    if chosen:
        _one(chosen, listed.get(chosen))
    st.header(t("admin.data.add"))
    upload, more = st.columns(2, gap="large")
    with upload:
        _upload()
    with more:
        _folder()
        _fetch()


def _row(found: Found, entry: ListedDataset | None) -> dict[str, Any]:
    counts = found.counts
    place = "linked" if entry and entry.linked else found.place
    return {
        t("admin.data.col.name"): found.name,
        t("admin.data.col.place"): t(f"admin.data.place.{place}"),
        t("eval.queries"): _count(counts.queries),
        t("admin.kb_view.documents"): _count(counts.documents),
        t("admin.data.col.qrels"): _count(counts.qrels),
        t("admin.data.col.splits"): ", ".join(entry.splits) if entry and entry.splits else "–",
        t("admin.data.col.license"): (entry.license if entry else "") or t("admin.data.not_stated"),
        t("admin.data.col.where"): str(found.folder.resolve()) if entry and found.folder else found.reference,
    }


def _count(value: int | None) -> str:
    return "–" if value is None else number(value)


def _remote() -> list[Found]:
    """Return the data sets on S3 as last listed: asking a slow server in every rerun would block the page."""
    data = get_app().datasets
    if not data.uses_storage:
        return []
    known = data.remote()
    text, ask = st.columns([5, 2], vertical_alignment="center")
    text.caption(
        t("admin.data.s3_at", when=moment(known.at), count=number(len(known.found))) if known else t("admin.data.s3")
    )
    if ask.button(t("admin.data.s3_ask"), icon=":material/cloud_sync:", key="data_s3", width="stretch"):
        with st.spinner(t("admin.data.s3_asking")):
            data.remote(ask=True)
        st.rerun()
    if known and known.problem:
        show_error(known.problem)
    return list(known.found) if known else []


def _one(reference: str, entry: ListedDataset | None) -> None:
    with st.container(border=True):
        with errors_shown():
            _show_details(reference)
        _actions(reference, entry)


def _show_details(reference: str) -> None:
    with st.spinner(t("admin.data.reading")):
        details = get_app().datasets.details(reference)
    if details is None:
        st.caption(t("admin.data.not_here"))
        return
    facts = [
        t("admin.data.size", queries=number(details.queries), documents=number(details.documents)),
        t("admin.data.answered", count=number(details.answered)),
        t("admin.data.language", language=t(f"admin.choice.{details.language}")),
    ]
    if details.left_out:
        facts.append(t("admin.data.left_out", count=number(details.left_out)))
    for kinds in (details.types, details.levels):
        facts += [f"{plain(name)} {number(count)}" for name, count in kinds.items()]
    st.markdown(" · ".join(facts))
    draw_table(
        [
            {
                t("eval.col.question"): query.question,
                t("eval.answer"): query.answer or "–",
                t("eval.col.gold_found"): " · ".join(query.gold),
            }
            for query in details.preview
        ],
        {t("eval.col.question"): 400, t("eval.answer"): 200},
    )


def _actions(reference: str, entry: ListedDataset | None) -> None:
    if entry is None:
        return
    data = get_app().datasets
    push, delete, _ = st.columns([2, 2, 3])
    if data.uses_storage and push.button(
        t("admin.data.push"), icon=":material/cloud_upload:", key="data_push", width="stretch"
    ):
        _start(lambda: data.start_push(reference))
    if entry.own and delete.button(
        t("admin.data.unlink" if entry.linked else "admin.kb_delete"),
        icon=":material/delete:",
        key="data_delete",
        width="stretch",
    ):
        _confirm_delete(entry)


def _confirm_delete(entry: ListedDataset) -> None:
    name = entry.found.name

    def delete() -> None:
        get_app().datasets.delete(name, undoable=True)
        _say(t("admin.data.deleted", name=name))

    sure = t("admin.data.unlink_sure" if entry.linked else "admin.data.delete_sure", name=plain(name))
    label = t("admin.data.unlink" if entry.linked else "admin.data.delete_title")
    confirm(label, sure, "data_delete_yes", delete)


def _upload() -> None:
    limit = get_app().settings.dataset_max_upload_mb
    # A new key after each accepted upload empties the box.
    count = st.session_state.get("data_uploads", 0)
    files = st.file_uploader(
        t("admin.data.upload", limit_mb=number(limit)),
        accept_multiple_files=True,
        # Above the limit, so that our own error, in the session's language, refuses a larger file.
        max_upload_size=box_limit(limit),
        key=f"data_upload-{count}",
        help=t("admin.data.upload_help"),
    )
    usual = PurePath(files[0].name).stem if len(files) == 1 else ""
    name = st.text_input(
        t("admin.data.name"), usual, key=f"data_name-{count}-{usual}", max_chars=60, help=t("admin.data.name_help")
    )
    if st.button(t("admin.data.upload_go"), icon=":material/upload:", key="data_upload_go", disabled=not files):
        with errors_shown():
            with st.spinner(t("admin.starting")):
                kept = get_app().datasets.upload([(PurePath(file.name).name, file) for file in files], name)
            st.session_state.data_uploads = count + 1
            _say(t("admin.data.added", name=kept))
            st.rerun()


def _folder() -> None:
    path = st.text_input(t("admin.data.folder"), key="data_folder", help=t("admin.data.folder_help"))
    if st.button(t("admin.data.folder_go"), icon=":material/create_new_folder:", key="data_folder_go"):
        if not path.strip():
            st.warning(t("admin.folder_missing"), icon=":material/folder_off:")
            return
        with errors_shown():
            with st.spinner(t("admin.starting")):
                kept = get_app().datasets.add_folder(path.strip())
            _say(t("admin.data.added", name=kept))
            st.rerun()


def _fetch() -> None:
    st.markdown(t("admin.data.hotpotqa"))
    here = "hotpotqa" in get_app().datasets.names()
    label, icon = t("admin.data.fetched" if here else "admin.data.fetch"), "check" if here else "download"
    if st.button(label, icon=f":material/{icon}:", key="data_fetch", disabled=here):
        _start(get_app().datasets.start_fetch)


def _start(begin: Callable[[], object]) -> None:
    with errors_shown():
        begin()
        st.rerun()


def _job_panel() -> None:
    data = get_app().datasets

    def draw() -> None:
        jobs = data.jobs()
        running = [job for job in jobs if job.active]
        for job in running:
            with st.container(border=True):
                show_progress(job, f"**{_title(job)}**")
                stop_button(job, f"data_stop-{job.job_id}", partial(data.stop, job.job_id))
        if jobs and not running:
            _ended(jobs[0])

    draw_live(lambda: any(job.active for job in data.jobs()), draw)


def _ended(job: JobStatus) -> None:
    """Show how the latest job ended, until the user dismisses it."""
    if st.session_state.get("data_job_seen") == job.updated_at:
        return
    title = _title(job)
    show_end(job, title=title)
    if job.state == "done":
        st.success(t("job.done", title=title), icon=":material/check_circle:")
    elif job.state != "failed":
        st.info(t("admin.data.stopped", title=title), icon=":material/block:")
    if st.button(t("upload.dismiss"), key="data_dismiss", type="tertiary"):
        st.session_state.data_job_seen = job.updated_at
        st.rerun()


def _title(job: JobStatus) -> str:
    kind = job.job_id.partition("-")[0]
    return t(f"admin.data.job.{kind}", name=plain(job.title))


def _say(text: str) -> None:
    st.session_state.data_said = text


def _said() -> None:
    """Show the message of an action, after the rerun that shows its result."""
    if text := st.session_state.pop("data_said", ""):
        st.success(plain(text), icon=":material/check_circle:")
