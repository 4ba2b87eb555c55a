"""Bounds the files that browsers have sent and no page has taken yet: Streamlit keeps them in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

MOST_PAGE_MB = 250
"""Files that one open page has in memory, in megabytes (10^6 bytes); a drop of many files is below it."""
MOST_SERVER_MB = 1_000
"""Files that all pages together have in memory."""
KEPT_S = 30.0
"""How long the files of a closed page are kept, in seconds: a lost connection is made again before."""


class Uploaded:
    """The files in memory. Used in the server's event loop."""

    def __init__(self) -> None:
        self._closed: dict[str, float] = {}
        """Streamlit's session id -> when its page was first seen closed, on the monotonic clock."""
        self._coming: dict[object, tuple[str, int]] = {}
        """One entry per transfer: session id and announced bytes."""

    @contextmanager
    def place(self, session_id: str, size: int) -> Iterator[str]:
        """Keep a place for a file of ``size`` bytes while it is transferred; give "" or why it has none."""
        kept = {page: sum(len(file.data) for file in list(files.values())) for page, files in _files()}
        coming = list(self._coming.values())
        own = kept.get(session_id, 0) + sum(announced for page, announced in coming if page == session_id) + size
        of_all = sum(kept.values()) + sum(announced for _, announced in coming) + size
        if own > MOST_PAGE_MB * 1_000_000:
            yield _refusal(own, MOST_PAGE_MB, "esta página", "this page")
        elif of_all > MOST_SERVER_MB * 1_000_000:
            yield _refusal(of_all, MOST_SERVER_MB, "este servidor", "this server")
        else:
            transfer = object()
            self._coming[transfer] = (session_id, size)
            try:
                yield ""
            finally:
                del self._coming[transfer]

    def release_abandoned(self) -> None:
        """Drop the files of pages that have been closed for ``KEPT_S`` seconds."""
        now, server = time.monotonic(), Runtime.instance()
        closed = [page for page, _ in _files() if not server.is_active_session(page)]
        self._closed = {page: self._closed.get(page, now) for page in closed}
        for page, since in self._closed.items():
            if now - since > KEPT_S:
                _manager().remove_session_files(page)


def release(*files: UploadedFile) -> None:
    """Drop files that the page has taken. Streamlit would keep them until the page is closed."""
    context = get_script_run_ctx()
    if context is not None:
        manager = cast(MemoryUploadedFileManager, context.uploaded_file_mgr)
        for file in files:
            manager.remove_file(context.session_id, file.file_id)


def release_all() -> None:
    """Drop every file of this page, when it is left: its boxes are empty when they are drawn again."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _files() -> list[tuple[str, dict[str, UploadedFileRec]]]:
    return list(_manager().file_storage.items())


def _manager() -> MemoryUploadedFileManager:
    return cast(MemoryUploadedFileManager, Runtime.instance().uploaded_file_mgr)


def _refusal(size: int, most_mb: int, es: str, en: str) -> str:
    mb = round(size / 1e6, 1)
    return (
        f"Los archivos sin usar de {es} sumarían {mb} MB y pueden sumar {most_mb} MB. Quite algunos, espere a que se "
        f"lean los demás, o suba menos a la vez. / The unused files of {en} would be {mb} MB, and can be {most_mb} MB. "
        "Remove some, wait until the others have been read, or upload fewer at a time."
    )
