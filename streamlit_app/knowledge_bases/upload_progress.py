"""What became of files that were dropped: the progress of each, then its result."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import FileState, Upload
from chatbot_mvp.settings.access import Action
from streamlit_app.knowledge_bases.dropped import tell_left_out
from streamlit_app.knowledge_bases.ready import show_added
from streamlit_app.shared.guard import is_admin, may
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.jobs import draw_live, show_end, show_progress, show_provider, stop_button
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import failure_text, get_app, leave_for

_ICONS = {
    "waiting": ":gray[:material/schedule:]",
    "reading": ":blue[:material/hourglass_top:]",
    "read": ":blue[:material/article:]",
    "indexing": ":blue[:material/manage_search:]",
    "indexed": ":green[:material/check_circle:]",
    "failed": ":red[:material/error:]",
    "duplicate": ":orange[:material/content_copy:]",
    "stopped": ":gray[:material/block:]",
}


def follow(job_id: str) -> None:
    """Show this job from now on."""
    st.session_state.kb_job, st.session_state.kb_job_taken = job_id, False


def upload_panel(everyone: bool = False, apart: str = "", only: str = "") -> None:
    """Draw the session's latest job on a knowledge base, refreshed while it runs.

    Args:
        everyone: show the active jobs of other sessions to administrators too.
        apart: id of the knowledge base whose additions ``panel_of`` shows.
        only: id of a knowledge base: the result of a job that made or changed another one is not shown.
    """
    jobs = get_app().uploads
    name = session_name()
    job_id = st.session_state.get("kb_job", "")
    own = jobs.upload(job_id) if job_id else None
    if own is None and name:
        # After a reload the session no longer knows its job. It must, to be allowed to stop it.
        own = next(iter(jobs.uploads(name)), None)
        if own is not None:
            st.session_state.kb_job, st.session_state.kb_job_taken = own.job.job_id, True
    if own is not None:
        take_result(own)
    shown = [own] if own is not None and not _of_deleted(own) else []
    if everyone and is_admin():
        shown += [upload for upload in jobs.uploads() if own is None or upload.job.job_id != own.job.job_id]
    for row, upload in enumerate(shown):
        if apart and upload.into == apart and upload is own:
            continue
        if only and not upload.job.active and upload.kb_id not in ("", only):
            continue
        place = f"-{upload.job.job_id}" if row else ""
        _panel(upload.job.job_id, place)


def _of_deleted(upload: Upload) -> bool:
    """Return whether what an upload made or changed has been deleted since."""
    known = {record.kb_id for record in get_app().kbs.records()}
    return not upload.job.active and bool(upload.kb_id) and upload.kb_id not in known


def panel_of(kb_id: str) -> None:
    """Draw the session's latest job if it adds files to this knowledge base."""
    job_id = st.session_state.get("kb_job", "")
    upload = get_app().uploads.upload(job_id) if job_id else None
    if upload is not None and upload.into == kb_id:
        _panel(job_id, "")


def dismiss_of(kb_id: str) -> None:
    """Show the session's latest job no more, if it has added files to this knowledge base."""
    upload = get_app().uploads.upload(st.session_state.get("kb_job", ""))
    if upload is not None and upload.into == kb_id and not upload.job.active:
        dismiss()


def take_result(upload: Upload) -> None:
    """Choose the knowledge base of a finished upload for this session, once."""
    if upload.job.active or not upload.kb_id or st.session_state.get("kb_job_taken", True):
        return
    st.session_state.kb_job_taken = True
    if upload.files and st.session_state.get("kb_id") != upload.kb_id:
        st.session_state.kb_id = upload.kb_id
        st.rerun()  # the page above was drawn for the previous knowledge base


def _panel(job_id: str, place: str) -> None:
    jobs = get_app().uploads
    found = jobs.upload(job_id)
    if not place and found and not found.job.active and st.session_state.get("kb_job_ended") != job_id:
        st.session_state.kb_job_ended = job_id
        st.rerun()  # it may have ended after the draft and the documents above were drawn

    def draw() -> None:
        upload = jobs.upload(job_id)
        if upload is None or not _may_see(upload):
            st.rerun()
        with st.container(border=True, key=f"kb-upload-panel{place}"):
            if upload.job.active:
                _under_way(upload, place)
            else:
                _ended(upload)

    draw_live(lambda: (upload := jobs.upload(job_id)) is not None and upload.job.active, draw)


def _may_see(upload: Upload) -> bool:
    """Return whether this session may see the names of an upload, and stop it."""
    return upload.owner == session_name() or is_admin()


def _under_way(upload: Upload, place: str) -> None:
    job = upload.job
    reading = next((file.name for file in upload.files if file.stage == "reading"), "")
    show_progress(job, f"**{plain(reading)}** · {t('upload.stage.reading')}" if reading else "")
    _files(upload.files, bool(upload.into))
    others = sum(other.owner != upload.owner for other in get_app().uploads.uploads())
    if others and job.state == "queued":
        st.caption(t("upload.behind", count=number(others)))
    stop_button(job, f"kb_stop{place}", lambda: get_app().uploads.stop(job.job_id))


def _ended(upload: Upload) -> None:
    job = upload.job
    record = next((record for record in get_app().kbs.records() if record.kb_id == upload.kb_id), None)
    if job.state != "done":
        show_end(job, t(f"upload.{job.state}", title=plain(job.title)) if job.state != "failed" else "")
    elif upload.into:
        _tell_added(upload)
    elif record is not None:
        show_added(record)
    elif len(upload.files) == 1 and upload.files[0].stage == "failed":
        st.error(failure_text(upload.files[0]), icon=":material/error:")
    else:
        st.warning(t("upload.nothing"), icon=":material/warning:")
    show_provider(job)
    if upload.into or len(upload.files) > 1 or any(file.stage == "indexed" and _notes(file) for file in upload.files):
        _files(upload.files, bool(upload.into))
    if upload.owner == session_name():
        tell_left_out()
    st.button(t("upload.dismiss"), key="kbdismiss", type="tertiary", on_click=dismiss)


def _tell_added(upload: Upload) -> None:
    """Say what became of files that were added to a knowledge base."""
    done = [file for file in upload.files if file.stage == "indexed"]
    replaced = sum(file.replaces for file in done)
    text = t("upload.into_draft" if upload.staged else "upload.into", name=plain(upload.job.title))
    if not done:
        st.info(t("upload.into_nothing", name=plain(upload.job.title)), icon=":material/info:")
    else:
        counts = t("upload.into_counts", added=number(len(done) - replaced), replaced=number(replaced))
        st.success(f"{text} {counts}", icon=":material/check_circle:")
    if (
        done
        and may(Action.CHANGE_KB)
        and st.button(
            t("upload.see"), key="kb-see", icon=":material/difference:", on_click=_open_changes, args=(upload,)
        )
    ):
        leave_for("admin", {"tab": "admin.kb"})


def _open_changes(upload: Upload) -> None:
    """Open, in the list of knowledge bases, what an upload changed: the draft, or the last step of the history."""
    kb_id, state = upload.into, st.session_state
    state.kb_open, state[f"view-{kb_id}"] = kb_id, "documents" if upload.staged else "history"
    state[f"look-{kb_id}-{get_app().kb_changes.history(kb_id)[0].entry.number}"] = True
    state.pop("kb_document", None)


def dismiss() -> None:
    st.session_state.pop("kb_job", None)


def dismiss_seen() -> None:
    """Show the session's latest job no more once its end has been seen: somebody goes on to something else."""
    if st.session_state.get("kb_job") == st.session_state.get("kb_job_ended"):
        dismiss()


def _files(files: tuple[FileState, ...], added: bool = False) -> None:
    """Draw one line per file: its stage and, if it was not added, why. ``added``: to a knowledge base that is there."""
    for file in files:
        if file.stage == "failed":  # the error text names the file
            st.markdown(f"{_ICONS[file.stage]} {plain(failure_text(file))}")
            continue
        stage = ("replaced" if file.replaces else "added") if added and file.stage == "indexed" else file.stage
        said = [t(f"upload.stage.{'equal' if file.same_as == file.name else stage}", name=file.same_as)]
        if file.chars and file.stage != "duplicate":
            said += [pages_of(file.pages)] if file.pages else []
            said.append(t("upload.chars", chars=number(file.chars)))
        elif file.stage == "reading" and file.pages_to_read:
            said.append(t("upload.reading_pages", done=number(file.pages_read), total=number(file.pages_to_read)))
        said += _notes(file)
        st.markdown(f"{_ICONS[file.stage]} **{plain(file.name)}** · {' · '.join(said)}")


def pages_of(count: int) -> str:
    return t("upload.pages", count=number(count))


def _notes(file: FileState) -> list[str]:
    notes = []
    if file.resumed and file.active:
        notes.append(t("upload.resumed"))
    if file.cut:
        notes.append(t("upload.cut"))
    if file.empty_pages:
        notes.append(t("upload.empty_pages", count=number(file.empty_pages), pages=number(file.pages)))
    return notes
