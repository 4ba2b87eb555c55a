"""Makes a browser a known visitor, for tests whose conversations are there before the browser is."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.settings.model import load_settings
from streamlit_app.web.visitor import visitor_cookie
from tests.e2e.conftest import Server


def become(page: Any, server: Server, visitor: str) -> None:
    """Give the page's browser the cookie that the server gave this visitor."""
    cookie = visitor_cookie(load_settings(data_dir=server.data_dir).visitor_key_path)
    page.context.add_cookies([{"name": cookie.name, "value": cookie.value(visitor), "url": server.url}])
