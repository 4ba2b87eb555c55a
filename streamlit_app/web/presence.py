"""Knows which visitors have a page open, and ends what was begun for those who have none."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from streamlit_app.web.uploaded import Uploaded

log = logging.getLogger(__name__)

SWEEP_S = 5.0
"""How often it is looked who is there, in seconds."""


class Presence:
    """The visitors of the pages of this process. Safe to share between threads."""

    def __init__(self) -> None:
        self._visitors: dict[str, str] = {}
        """Streamlit's session id -> visitor."""
        self._lock = threading.Lock()
        self._end_unattended: Callable[[Collection[str]], None] | None = None

    def tell(self, end_unattended: Callable[[Collection[str]], None]) -> None:
        """Call ``end_unattended`` with the visitors who are there, every ``SWEEP_S`` seconds."""
        self._end_unattended = end_unattended

    def note(self, visitor: str) -> None:
        """Note whose page this script draws."""
        context = get_script_run_ctx()
        if context is not None:
            with self._lock:
                self._visitors[context.session_id] = visitor

    def sweep(self) -> None:
        """Forget the pages that are closed, and tell who is there.

        A page whose connection was lost is noted again when its script runs, which a reconnection causes.
        """
        server = Runtime.instance()
        with self._lock:
            self._visitors = {page: who for page, who in self._visitors.items() if server.is_active_session(page)}
            present = set(self._visitors.values())
        if self._end_unattended is not None:
            self._end_unattended(present)


PRESENCE = Presence()
"""Of this process: the server's own tasks and the scripts of the pages know no other common object."""


@asynccontextmanager
async def swept(_: Any) -> AsyncIterator[None]:
    """Look every ``SWEEP_S`` seconds who is there, while the server runs: the ``lifespan`` of ``st.App``."""
    task = asyncio.create_task(_sweep())
    try:
        yield
    finally:
        task.cancel()


async def _sweep() -> None:
    uploaded = Uploaded()
    while True:
        await asyncio.sleep(SWEEP_S)
        try:
            uploaded.release_abandoned()
            await asyncio.to_thread(PRESENCE.sweep)
        except Exception:
            log.exception("what nobody waits for could not be ended")
