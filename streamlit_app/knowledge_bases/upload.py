"""The box to drop files for a knowledge base, on any page, and the button that loads the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from chatbot_mvp.api import SUFFIXES, KbRecord
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.dropped import drop_box
from streamlit_app.knowledge_bases.ready import show_added
from streamlit_app.knowledge_bases.upload_progress import dismiss, follow
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.jobs import (
    phase_text,
    share_done,
)
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import errors_shown, get_app


def upload_popover(into: KbRecord) -> None:
    """Draw a button that opens the box to drop files; it closes when files were dropped, because their result is below.

    Args:
        into: the knowledge base that the files can be added to.
    """
    if st.session_state.pop("kb_dropped", False):
        st.session_state["chat-upload"] = False
    with st.popover(t("chat.upload"), icon=":material/upload_file:", key="chat-upload", on_change="rerun"):
        upload_box("chat", into)


def upload_box(place: str, into: KbRecord | None = None) -> None:
    """Draw the box to drop files. Files dropped together become one knowledge base at once.

    Args:
        place: makes the widget keys unique per page.
        into: the knowledge base that the files can be added to instead; None to make a new one without asking.
    """
    target = _asked_target(place, into) if into is not None else ""
    limits = get_app().settings
    label = t(
        "admin.upload",
        suffixes=" ".join(SUFFIXES),
        limit_mb=limits.kb_max_upload_mb,
        max_pages=number(limits.kb_max_pages),
        max_chars=number(limits.kb_max_chars),
    )
    if files := drop_box(label, f"kb_upload-{place}", help=t("admin.upload_help")):
        st.session_state.kb_dropped = True
        uploads, owner = get_app().uploads, session_name()
        with errors_shown():
            follow(uploads.add_to(target, files, owner) if target else uploads.take(files, owner=owner))
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
            dismiss()
            show_added(record)
