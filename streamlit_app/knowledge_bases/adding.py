"""Adds files to a knowledge base that is there: a box to drop them on, and where they go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import SUFFIXES, KbDocument, KbRecord
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from streamlit_app.knowledge_bases.dropped import drop_box
from streamlit_app.knowledge_bases.upload_progress import follow, panel_of
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import t
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import get_app, show_error

_BY_NAME = "*"


def add_box(record: KbRecord, documents: Sequence[KbDocument], staged: bool) -> None:
    """Draw the box that adds files, and the progress of those that are being added.

    Args:
        staged: whether the draft is shown, which then gets the files.
    """
    kb_id = record.kb_id
    folders = sorted({one.folder for one in documents if one.folder})
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    folder = bar.selectbox(
        t("kbdoc.into"),
        [_BY_NAME, "", *folders],
        format_func=lambda one: t("kbdoc.into_same") if one == _BY_NAME else one or t("kbdoc.no_folder"),
        accept_new_options=True,
        key=f"into-{kb_id}",
        help=t("kbdoc.into_help"),
        width=320,
    )
    stage = staged or bar.toggle(t("kbdoc.stage"), key=f"stage-{kb_id}", **guarded(Action.CHANGE_KB))
    whole = bar.toggle(t("kbdoc.whole"), key=f"whole-{kb_id}", help=t("kbdoc.whole_help"))
    allowed = guarded(Action.CHANGE_KB, t("kbdoc.drop_help"))
    files = drop_box(t("kbdoc.drop", suffixes=" ".join(SUFFIXES)), f"kb_add-{kb_id}", whole, **allowed)
    if files:
        add_files(kb_id, [(_path(name, folder, documents), content) for name, content in files], stage)
    panel_of(kb_id)


def add_files(kb_id: str, files: Sequence[tuple[str, bytes]], stage: bool) -> None:
    """Add files in the background, and draw the page again."""
    try:
        follow(get_app().uploads.add_to(kb_id, files, session_name(), stage))
    except ChatbotError as error:
        show_error(error)
        return
    st.session_state.pop("kb_told", None)
    st.rerun()


def _path(name: str, folder: str, documents: Sequence[KbDocument]) -> str:
    """Return the path of a dropped file; by its name if only one document has it."""
    if folder != _BY_NAME:
        return f"{folder.strip('/ ')}/{name}".lstrip("/")
    return by_name(documents).get(name, name)


def by_name(documents: Sequence[KbDocument]) -> dict[str, str]:
    """Return the name of a file -> the path of the only document that has it."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in documents:
        found[one.path.rpartition("/")[2]].append(one.path)
    return {name: paths[0] for name, paths in found.items() if len(paths) == 1}
