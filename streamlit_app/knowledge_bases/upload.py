"""The one box to drop files for a knowledge base, on any page, and the button that loads the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from chatbot_mvp.api import SUFFIXES, KbDocument, KbRecord
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.dropped import drop_box
from streamlit_app.knowledge_bases.ready import show_added
from streamlit_app.knowledge_bases.upload_progress import dismiss, follow
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import current_language, number, plain, t
from streamlit_app.shared.jobs import phase_text, share_done
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import errors_shown, get_app

_BY_NAME = "*"


def upload_popover(into: KbRecord) -> None:
    """Draw a button that opens the box to drop files; it closes when files were dropped, because their result is below.

    Args:
        into: the knowledge base that the files can be added to.
    """
    if st.session_state.pop("kb_dropped", False):
        st.session_state["chat-upload"] = False
    with st.popover(t("chat.upload"), icon=":material/upload_file:", key="chat-upload", on_change="rerun"):
        # The sample is for trying: one's own documents do not belong into it.
        upload_box("chat", into, "new" if get_app().kbs.is_sample(into) else "current")


@errors_shown()
def upload_box(place: str, into: KbRecord | None = None, usual: str = "new", draft: str = "") -> None:
    """Draw the box to drop files: the same one on every page. Files dropped together become one knowledge base at once.

    Args:
        place: makes the widget keys unique per page.
        into: the knowledge base that the files can be added to instead; None to make a new one without asking.
        usual: "new" or "current": what is chosen at first.
        draft: version of its draft if that is shown, which then gets the files.
    """
    target = _asked_target(place, into, usual) if into is not None else ""
    documents = get_app().kb_changes.documents(target, draft) if target else ()
    folder, stage, whole = _ask_where(target, documents, bool(draft)) if target else (_BY_NAME, False, False)
    limits = get_app().settings
    label = t(
        "admin.upload",
        suffixes=" ".join(SUFFIXES),
        limit_mb=limits.kb_max_upload_mb,
        max_pages=number(limits.kb_max_pages),
        max_chars=number(limits.kb_max_chars),
    )
    told = t("kbdoc.drop_help" if target else "admin.upload_help")
    if files := drop_box(label, f"kb_upload-{place}-{target}", whole, help=told):
        st.session_state.kb_dropped = True
        st.session_state.pop("kb_told", None)
        uploads, owner = get_app().uploads, session_name()
        if target:
            placed = [(_path(name, folder, documents), content) for name, content in files]
            follow(uploads.add_to(target, placed, owner, stage))
        else:
            follow(uploads.take(files, owner=owner))
        st.rerun()


def _asked_target(place: str, into: KbRecord, usual: str) -> str:
    """Ask which knowledge base the files are for; return its id, "" for a new one."""
    allowed = may(Action.CHANGE_KB)
    names = ("new", "current") if allowed else ("new",)
    labels = {name: t(f"upload.target.{name}", name=plain(into.kb_name)) for name in names}
    chosen = st.radio(
        t("upload.target"),
        names,
        index=names.index(usual) if allowed else 0,
        format_func=labels.__getitem__,
        key=f"kb_target-{place}",
        help=None if allowed else t("admin.guard.needed"),
    )
    return into.kb_id if chosen == "current" else ""


def _ask_where(kb_id: str, documents: Sequence[KbDocument], staged: bool) -> tuple[str, bool, bool]:
    """Ask where in a knowledge base the files go; return the folder, whether they wait in a draft, and the button's."""
    folders = sorted({one.folder for one in documents if one.folder})
    names = {_BY_NAME: t("kbdoc.into_same"), "": t("kbdoc.no_folder")}
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    folder = bar.selectbox(
        t("kbdoc.into"),
        [_BY_NAME, "", *folders],
        format_func=lambda one: names.get(one, one),
        accept_new_options=True,
        key=f"into-{kb_id}-{current_language()}",  # what was chosen is its text, which another language does not have
        help=t("kbdoc.into_help"),
        width=320,
    )
    stage = staged or bar.toggle(t("kbdoc.stage"), key=f"stage-{kb_id}")
    return folder, stage, bar.toggle(t("kbdoc.whole"), key=f"whole-{kb_id}", help=t("kbdoc.whole_help"))


def _path(name: str, folder: str, documents: Sequence[KbDocument]) -> str:
    """Return the path of a dropped file; by its name if only one document has it."""
    if folder != _BY_NAME:
        return f"{folder.strip('/ ')}/{name}".lstrip("/")
    same = [one.path for one in documents if one.path.rpartition("/")[2] == name]
    return same[0] if len(same) == 1 else name


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
