"""Closes connections to the pages that send no request, so that slow clients do not use up the server's places."""

from __future__ import annotations

from typing import Any

import uvicorn.config

from chatbot_mvp.server.connections import BoundedConnection


class PageConnection(BoundedConnection):
    """A connection of a browser, which may become a WebSocket."""

    limit = 500
    """Maximum number of connections that are no WebSocket."""
    limited_by = ""
    _is_websocket = False

    @property
    def receiving(self) -> bool:
        return not self._is_websocket and super().receiving

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._is_websocket = True
        super().handle_websocket_upgrade(event)


def bound_connections() -> None:
    """Let uvicorn, which Streamlit starts without a choice of its own, use ``PageConnection``."""
    # Typed as names of modules; uvicorn takes a class as well.
    uvicorn.config.HTTP_PROTOCOLS["auto"] = PageConnection  # type: ignore[assignment]
