"""Makes a browser a known visitor, for tests whose conversations are there before the browser is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatbot_mvp.settings.model import load_settings
from streamlit_app.web.visitor import visitor_cookie
from tests.e2e.conftest import Server


def become(page: Any, server: Server, visitor: str) -> None:
    """Give the page's browser the cookie that the server gave this visitor."""
    page.context.add_cookies([cookie_of(server.data_dir, server.url, visitor)])


def cookie_of(data_dir: Path, url: str, visitor: str) -> dict[str, str]:
    """Return the visitor's cookie, as a browser takes it, for the server at ``url`` over this folder."""
    cookie = visitor_cookie(load_settings(data_dir=data_dir).visitor_key_path)
    return {"name": cookie.name, "value": cookie.value(visitor), "url": url}
