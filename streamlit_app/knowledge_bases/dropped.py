"""The box to drop files, wherever it stands: which of them are taken, and what is told of the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from chatbot_mvp.api import SUFFIXES
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.state import get_app
from streamlit_app.shared.style import translate_uploader
from streamlit_app.web.scripts import FOLDERS, run_script
from streamlit_app.web.uploaded import box_limit, release

_NAMED = 5


def drop_box(label: str, key: str, whole: bool = False, **options: Any) -> list[tuple[str, bytes]]:
    """Draw a box; return the files that were dropped on it: (path, content). ``whole``: its button chooses folders."""
    translate_uploader(t("kbdoc.whole_button" if whole else "admin.upload_button"))
    run_script(FOLDERS)
    # A new key after each drop empties the box, so that a rerun does not upload the files again.
    count = st.session_state.get("kb_drops", 0)
    files = st.file_uploader(
        label,
        accept_multiple_files="directory" if whole else True,
        # Above the limit, so that our own error, in the session's language, refuses a larger file.
        max_upload_size=box_limit(get_app().settings.kb_max_upload_mb),
        key=f"{key}-{count}-{whole}",
        **options,
    )
    if not files:
        return []
    st.session_state.kb_drops = count + 1
    found = readable(files)
    release(*files)
    return found


def readable(files: Sequence[UploadedFile]) -> list[tuple[str, bytes]]:
    """Return (name, content) of what was dropped. Of folders, files that no reader reads are left out, and it is told.

    All are returned if none would be left, so that their errors say why.
    """
    kept = [file for file in files if "/" not in file.name or PurePath(file.name).suffix.lower() in SUFFIXES]
    hidden = [file for file in files if PurePath(file.name).name.startswith(".")]
    st.session_state.kb_left_out = [file.name for file in files if kept and file not in kept and file not in hidden]
    return [(file.name, file.getvalue()) for file in kept or files]


def tell_left_out() -> None:
    """Tell which files of the last folder were left out."""
    if left := st.session_state.get("kb_left_out"):
        names = Markdown(", ".join(plain(name) for name in left[:_NAMED]) + (" …" if len(left) > _NAMED else ""))
        st.caption(f":material/filter_alt: {t('upload.left_out', count=number(len(left)), names=names)}")
