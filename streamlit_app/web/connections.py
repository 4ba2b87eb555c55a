"""Closes connections to the pages that send no request, so that slow clients do not use up the server's places."""

from __future__ import annotations

from typing import Any

import h11
import uvicorn.config

from chatbot_mvp.server.connections import BoundedConnection


class PageConnection(BoundedConnection):
    """A connection of a browser: it may send a large file for as long as it goes on, and become a WebSocket."""

    limit = 500
    """Maximum number of connections that are no WebSocket."""
    limited_by = ""
    _is_websocket = False

    @property
    def receiving(self) -> bool:
        return not self._is_websocket and super().receiving

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            self._unwatch()  # the time begins anew with each piece of a body
        super().data_received(data)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._is_websocket = True
        super().handle_websocket_upgrade(event)


def bound_connections() -> None:
    """Let uvicorn, which Streamlit starts without a choice of its own, use ``PageConnection``."""
    # Typed as names of modules; uvicorn takes a class as well.
    uvicorn.config.HTTP_PROTOCOLS["auto"] = PageConnection  # type: ignore[assignment]
