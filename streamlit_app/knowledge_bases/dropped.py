"""The files of a folder that was dropped on an uploader: which of them are taken, and what is told of the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from chatbot_mvp.api import SUFFIXES
from streamlit_app.shared.i18n import Markdown, number, plain, t

_NAMED = 5


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
