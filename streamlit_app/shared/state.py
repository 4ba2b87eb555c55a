"""State shared by the pages: the App (one per server), the paths of the pages, the session's knowledge base."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from chatbot_mvp.api import Failure, FileState, JobStatus, KbRecord
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Progress
from streamlit_app.shared.i18n import catalogue, current_language, duration, moment, number, plain, t
from streamlit_app.shared.permissions import gated
from streamlit_app.web.presence import PRESENCE

_FOLDER = Path(__file__).resolve().parent.parent


def _pages() -> Iterator[tuple[str, tuple[str, str]]]:
    for path in sorted((_FOLDER / "views").glob("[0-9]*_*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        said = next(node for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGE")
        name, icon = ast.literal_eval(said.value)
        yield name, (str(path), icon)


PAGES = dict(_pages())
"""Name of a page -> its file and icon, in the order of the files. ``PAGE`` in a view says both; it is read without
running the view, because that would draw the page."""


@st.cache_resource(show_spinner=False)
def get_app() -> App:
    """Return the App, shared by all sessions of this server. It owns the job thread and the indexes, no user data.

    Its calls check who makes them: see ``permissions``.
    """
    app = build_app(load_settings())
    app.start()
    PRESENCE.tell(app.chat.end_unattended)
    return gated(app)


def error_text(error: ChatbotError) -> str:
    """Return the text of an error in the session's language."""
    return t(f"error.{error.code}", **error.params)


def show_error(error: ChatbotError) -> None:
    """Show an error in the session's language."""
    st.error(error_text(error), icon=":material/error:")


def failure_text(failure: Failure | FileState) -> str:
    """Return why something failed, in the session's language if there is a text for its code."""
    key = f"error.{failure.code}"
    return t(key, **failure.params) if key in catalogue(current_language()) else plain(failure.message)


def job_failure_text(job: JobStatus) -> str:
    """Return why a job failed, in the session's language; for an unexpected error, the id to look up in the log."""
    return (
        t(f"error.{job.error_code}", **job.error_params)
        if job.error_code
        else t("job.failed_unknown", job_id=job.job_id)
    )


def show_failed_job(job: JobStatus, title: str = "") -> None:
    """Show which job failed and why.

    Args:
        title: title in Markdown; "" for the job's own title.
    """
    st.error(t("job.failed", title=title or plain(job.title), error=job_failure_text(job)), icon=":material/error:")


def show_provider(job: JobStatus) -> None:
    """Say with which provider a job goes on, or went on, if another one was chosen while it ran."""
    if job.provider:
        st.info(t("job.provider", provider=job.provider), icon=":material/swap_horiz:")


def active_kb() -> KbRecord | None:
    """Return the session's knowledge base: the chosen one, else the newest; None if there is none."""
    records = get_app().kbs.records()
    chosen = st.session_state.get("kb_id")
    return next((record for record in records if record.kb_id == chosen), records[0] if records else None)


def kb_names(records: Sequence[KbRecord]) -> dict[str, str]:
    """Return kb_id -> name; names used more than once are completed with date and id.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    counts = Counter(record.kb_name for record in records)
    names = {
        record.kb_id: record.kb_name
        if counts[record.kb_name] == 1
        else f"{record.kb_name} · {moment(record.added_at)} · {record.kb_id[-4:]}"
        for record in records
    }
    # A name can be chosen to look like another one that was completed.
    while max((counts := Counter(names.values())).values(), default=1) > 1:
        names = {kb_id: name if counts[name] == 1 else f"{name} · {kb_id}" for kb_id, name in names.items()}
    return names


def prepare_kb(record: KbRecord, retrieval: tuple[tuple[str, Any], ...] = ()) -> None:
    """Build the indexes of a knowledge base with a progress bar, until it can be asked; the vectors follow.

    Args:
        retrieval: overrides of the search settings in this session, as in ``UserContext``.
    """
    bar = st.empty()

    def show(progress: Progress) -> None:
        if progress.total and progress.done < progress.total:
            text = t(f"phase.{progress.phase}", done=number(progress.done), total=number(progress.total))
            if progress.seconds_left is not None:
                text += f" · {t('job.left', time=duration(progress.seconds_left))}"
            bar.progress(progress.done / progress.total, text)

    pipeline = get_app().kbs.growing(record.kb_id, show, retrieval).best()
    bar.empty()
    if st.session_state.get("kb_prepared") != record.sha256:
        st.session_state.kb_prepared = record.sha256
        st.session_state.kb_name = record.kb_name
        st.session_state.kb_text = get_app().kbs.document(record.kb_id).text
        st.session_state.kb_chunks, st.session_state.kb_index = pipeline.index.chunks, pipeline.index.kb
