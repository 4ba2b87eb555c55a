"""Uploads files to a new knowledge base, on any page: the drop box and the progress of each file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from chatbot_mvp.api import SUFFIXES, FileState, KbRecord, Upload
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.dropped import readable, tell_left_out
from streamlit_app.shared.guard import is_admin, may
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.jobs import (
    draw_live,
    phase_text,
    share_done,
    show_end,
    show_progress,
    show_provider,
    stop_button,
)
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import errors_shown, failure_text, get_app, show_error
from streamlit_app.shared.style import translate_uploader
from streamlit_app.web.scripts import FOLDERS, run_script
from streamlit_app.web.uploaded import release

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

ABOVE_MB = 90


def upload_popover(where: DeltaGenerator, into: KbRecord) -> None:
    """Draw a button that opens the box to drop files; it closes when files were dropped, because their result is below.

    Args:
        into: the knowledge base that the files can be added to.
    """
    if st.session_state.pop("kb_dropped", False):
        st.session_state["chat-upload"] = False
    with where.popover(t("chat.upload"), icon=":material/upload_file:", key="chat-upload", on_change="rerun"):
        upload_box("chat", into)


def upload_box(place: str, into: KbRecord | None = None) -> None:
    """Draw the box to drop files. Files dropped together become one knowledge base at once.

    Args:
        place: makes the widget keys unique per page.
        into: the knowledge base that the files can be added to instead; None to make a new one without asking.
    """
    target = _asked_target(place, into) if into is not None else ""
    limits = get_app().settings
    translate_uploader(t("admin.upload_button"))
    run_script(FOLDERS)
    # A new key after each drop empties the box, so that a rerun does not upload the files again.
    count = st.session_state.get("kb_drops", 0)
    files = st.file_uploader(
        t(
            "admin.upload",
            suffixes=" ".join(SUFFIXES),
            limit_mb=limits.kb_max_upload_mb,
            max_pages=number(limits.kb_max_pages),
            max_chars=number(limits.kb_max_chars),
        ),
        accept_multiple_files=True,
        # Above the limit, so that our own error, in the session's language, refuses a larger file.
        max_upload_size=limits.kb_max_upload_mb + ABOVE_MB,
        key=f"kb_upload-{place}-{count}",
        help=t("admin.upload_help"),
    )
    if files:
        st.session_state.kb_drops, st.session_state.kb_dropped = count + 1, True
        try:
            found, uploads = readable(files), get_app().uploads
            owner = session_name()
            follow(uploads.add_to(target, found, owner) if target else uploads.take(found, owner=owner))
        except ChatbotError as error:
            show_error(error)
            return
        finally:
            release(*files)
        st.rerun()


def _asked_target(place: str, into: KbRecord) -> str:
    """Ask which knowledge base the files are for; return its id, "" for a new one."""
    allowed = may(Action.CHANGE_KB)
    names = ("new", "current") if allowed else ("new",)
    labels = {name: t(f"upload.target.{name}", name=plain(into.kb_name)) for name in names}
    chosen = st.radio(
        t("upload.target"),
        names,
        format_func=labels.__getitem__,
        key=f"kb_target-{place}",
        help=None if allowed else t("admin.guard.needed"),
    )
    return into.kb_id if chosen == "current" else ""


def prepare_kbs(records: Sequence[KbRecord], retrieval: tuple[tuple[str, Any], ...] = ()) -> None:
    """Build the indexes over knowledge bases with a progress bar, until they can be asked; the vectors follow.

    Args:
        retrieval: overrides of the search settings in this session, as in ``UserContext``.
    """
    bar = st.empty()

    def show(progress: Progress) -> None:
        if progress.total and progress.done < progress.total:
            bar.progress(share_done(progress), phase_text(progress))

    get_app().kbs.over([record.kb_id for record in records], show, retrieval).best()
    bar.empty()


def take_sample() -> KbRecord | None:
    """Load the sample as the session's knowledge base, with a progress bar; None if it failed."""
    with errors_shown():
        record = get_app().kbs.add_sample()
        st.session_state.kb_id = record.kb_id
        prepare_kbs([record])
        return record
    return None


def sample_button() -> None:
    """Draw the button that loads the sample."""
    st.markdown(t("admin.sample_text"))
    if st.button(t("admin.sample"), icon=":material/library_add:", key="kb_sample"):
        record = take_sample()
        if record is not None:
            _dismiss()
            show_added(record)


def show_added(record: KbRecord) -> None:
    """Show that a knowledge base is ready."""
    st.success(
        t(
            "admin.kb_added",
            name=plain(record.kb_name),
            chars=number(record.chars),
            language=languages_of(record),
        ),
        icon=":material/check_circle:",
    )


def languages_of(record: KbRecord) -> str:
    """Return the languages in which a knowledge base is written."""
    return ", ".join(t(f"lang.{language}") for language in record.languages)


def tell_truncated(record: KbRecord) -> None:
    """Say how much of a knowledge base was kept, if it was too long."""
    if record.kb_truncated:
        kept, original = number(record.chars), number(record.original_chars)
        st.warning(t("kb.truncated", kept=kept, original=original), icon=":material/content_cut:")


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
    shown = [own] if own is not None else []
    if everyone and is_admin():
        shown += [upload for upload in jobs.uploads() if own is None or upload.job.job_id != own.job.job_id]
    for row, upload in enumerate(shown):
        if apart and upload.into == apart and upload is own:
            continue
        if only and not upload.job.active and upload.kb_id not in ("", only):
            continue
        place = f"-{upload.job.job_id}" if row else ""
        _panel(upload.job.job_id, place)


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
        _dismiss()


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
    show_progress(job)
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
    st.button(t("upload.dismiss"), key="kb_dismiss", type="tertiary", on_click=_dismiss)


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


def _dismiss() -> None:
    st.session_state.pop("kb_job", None)


def _files(files: tuple[FileState, ...], added: bool = False) -> None:
    """Draw one line per file: its stage and, if it was not added, why. ``added``: to a knowledge base that is there."""
    for file in files:
        if file.stage == "failed":  # the error text names the file
            st.markdown(f"{_ICONS[file.stage]} {plain(failure_text(file))}")
            continue
        said = [t(f"upload.stage.{file.stage}")]
        if added and file.stage == "indexed":
            said = [t("upload.stage.replaced" if file.replaces else "upload.stage.added")]
        if file.stage == "duplicate" and file.same_as == file.name:
            said = [t("upload.stage.equal")]
        elif file.stage == "duplicate":
            said = [t("upload.same_as", name=plain(file.same_as))]
        elif file.chars:
            said += [t("upload.pages", pages=number(file.pages))] if file.pages else []
            said.append(t("upload.chars", chars=number(file.chars)))
        elif file.stage == "reading" and file.pages_to_read:
            said.append(t("upload.reading_pages", done=number(file.pages_read), total=number(file.pages_to_read)))
        said += _notes(file)
        st.markdown(f"{_ICONS[file.stage]} **{plain(file.name)}** · {' · '.join(said)}")


def _notes(file: FileState) -> list[str]:
    notes = []
    if file.resumed and file.active:
        notes.append(t("upload.resumed"))
    if file.cut:
        notes.append(t("upload.cut"))
    if file.empty_pages:
        notes.append(t("upload.empty_pages", count=number(file.empty_pages), pages=number(file.pages)))
    return notes
