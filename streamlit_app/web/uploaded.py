"""Bounds the files that browsers have sent and no page has taken yet: Streamlit keeps them in memory."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from streamlit import config, get_option
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

_OPTION = "server.maxUploadSize"
MOST_PAGE_MB = 250
"""Files that one open page has in memory, in megabytes (10^6 bytes), or one file if that may be larger."""
MOST_SERVER_MB = 1_000
"""Files that all pages together have in memory."""
ABOVE_MB = 30
"""By how much a box lets more through than its limit, so that the page itself refuses a larger file, in the reader's
language; in megabytes."""
KEPT_S = 30.0
"""How long the files of a closed page are kept, in seconds: a lost connection is made again before."""


def box_limit(limit_mb: int) -> int:
    """Return the largest file that a box lets through, in units of 2^20 bytes. From now on the server takes it, too.

    Args:
        limit_mb: the setting that limits a file, in megabytes.
    """
    found = limit_mb + ABOVE_MB
    if get_option(_OPTION) < found:
        config.set_option(_OPTION, found)
    return found


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
        one = math.ceil((get_option(_OPTION) + 1) * 2**20 / 1e6)  # with what its transfer adds
        of_page, of_server = max(MOST_PAGE_MB, one), max(MOST_SERVER_MB, one)
        if own > of_page * 1_000_000:
            yield _refusal(own, of_page, "esta página", "this page")
        elif of_all > of_server * 1_000_000:
            yield _refusal(of_all, of_server, "este servidor", "this server")
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
