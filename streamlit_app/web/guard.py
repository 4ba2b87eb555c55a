"""Stands between browsers and Streamlit: who may open a page, its cookie and headers, places for pages and files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache, cached_property
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import file_util, get_option

from chatbot_mvp.settings.kinds import names_of
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.settings.network import HostRule, client_of
from streamlit_app.web.places import Places
from streamlit_app.web.scripts import FOCUS, FOLDERS, LANGUAGE, PICTURES, SOURCES
from streamlit_app.web.uploaded import Uploaded
from streamlit_app.web.visitor import VisitorCookie, new_visitor, visitor_cookie

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)

CHAT_SCRIPT = Path(__file__).with_name("chat_page.js").read_text("utf-8")
"""The script of the page Chat, allowed by its digest."""

_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")
"""Where Streamlit takes a file; the group is its id of the page's session."""


class PageGuard:
    """ASGI middleware around the whole server of the pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._uploaded = Uploaded()
        self._places = Places()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in security_headers():
                    headers[name] = value
                if self._is_page(scope, message["status"], headers):
                    headers.append("Set-Cookie", self._set_cookie(scope))
            await send(message)

        if (upload := _UPLOAD.search(scope["path"])) and scope["method"] == "PUT":
            with self._uploaded.place(upload[1], _announced(scope)) as refusal:
                app = PlainTextResponse(refusal, 413) if refusal else self._app
                await app(scope, receive, guarded)
            return
        app = self._app
        # The refusal of its connection alone would leave the page blank, so the page itself says it.
        if _asks_for_a_page(scope):
            if not self._hosts.allows(host := Headers(scope=scope).get("host")):
                app = PlainTextResponse(_not_ours(host), 403)
            elif refusal := self._places.refusal(*self._asker(scope)):
                app = PlainTextResponse(refusal, 429, {"Retry-After": "60"})
        await app(scope, receive, guarded)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        asker = self._asker(scope)
        if not self._is_of_our_page(scope) or self._places.refusal(*asker):
            await send({"type": "websocket.close", "code": 1013})  # before it is accepted: status 403
            return
        with self._places.taken(*asker):
            await self._app(scope, receive, send)

    def _is_of_our_page(self, scope: Scope) -> bool:
        """Return whether a page of this server opens a connection, or a program that is no browser.

        Streamlit lets in every origin of this machine, whatever its port, and every name that is both host and origin.
        A browser sends the visitor's cookie to all ports of a host.
        """
        headers = Headers(scope=scope)
        host, origin = headers.get("host"), headers.get("origin")
        if not self._hosts.allows(host):
            return False
        # Streamlit's own options for other origins: exact ones, or none is checked.
        if origin is None or origin in get_option("server.corsAllowedOrigins") or not get_option("server.enableCORS"):
            return True
        try:
            scheme, opened = urlsplit(origin)[:2]
        except ValueError:
            return False
        # Port 80 of the same name is another origin than 443, and neither is written out.
        return opened == host and (scheme == "https" or not self._is_secure(scope))

    def _asker(self, scope: Scope) -> tuple[str, str]:
        """Return the visitor ("" for none) and the client's address."""
        headers = Headers(scope=scope)
        peer = (scope.get("client") or ("",))[0]
        client = client_of(peer, headers.getlist("x-forwarded-for"), self._settings.trusted_proxies)
        return self._cookie.visitor(cookies_of(headers.getlist("cookie"))), client

    @cached_property
    def _settings(self) -> Settings:
        """Read with the first page, so that the server starts without them."""
        return load_settings()

    @cached_property
    def _hosts(self) -> HostRule:
        return HostRule(self._settings.allowed_hosts, get_option("server.address") or "")

    @cached_property
    def _cookie(self) -> VisitorCookie:
        return visitor_cookie(self._settings.visitor_key_path)

    @staticmethod
    def _is_page(scope: Scope, status: int, headers: Headers) -> bool:
        """Return whether this is a page and not one of its many files.

        Each reply to a new browser names a new visitor, so only one of those that a page causes may do so.
        """
        if scope["method"] != "GET":
            return False
        # A page that the browser has already is confirmed without its type.
        return _asks_for_a_page(scope) if status == 304 else headers.get("content-type", "").startswith("text/html")

    def _set_cookie(self, scope: Scope) -> str:
        return self._cookie.set_cookie(self._asker(scope)[0] or new_visitor(), self._is_secure(scope))

    def _is_secure(self, scope: Scope) -> bool:
        """Return whether the browser asked by https, here or at a proxy that TRUSTED_PROXIES names."""
        peer = (scope.get("client") or ("",))[0]
        told = Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        return scope["scheme"] in ("https", "wss") or (
            told == "https" and peer in names_of(self._settings.trusted_proxies)
        )


def _asks_for_a_page(scope: Scope) -> bool:
    """Return whether a browser opens a page; to an address without TLS it does not send ``Sec-Fetch-Dest``."""
    headers = Headers(scope=scope)
    asked = headers.get("sec-fetch-dest")
    return asked == "document" if asked else "text/html" in headers.get("accept", "")


def _not_ours(host: str | None) -> str:
    return (
        f"Estas páginas no se sirven con el nombre {host!r}. Si es suyo, añádalo a ALLOWED_HOSTS y reinicie el "
        f"servidor. / These pages are not served under the name {host!r}. If it is yours, add it to ALLOWED_HOSTS and "
        "restart the server."
    )


def _announced(scope: Scope) -> int:
    """Return the bytes that a request will send: as it says, else as many as one file may have."""
    said = Headers(scope=scope).get("content-length", "")
    return int(said) if said.isascii() and said.isdigit() else get_option("server.maxUploadSize") * 2**20


def cookies_of(headers: Sequence[str]) -> dict[str, str]:
    """Return name -> value of the headers ``Cookie``; an unreadable header counts as none."""
    found: dict[str, str] = {}
    for header in headers:
        for part in header.split(";"):
            try:
                found |= {name: morsel.value for name, morsel in SimpleCookie(part.strip()).items()}
            except CookieError:
                continue
    return found


@cache
def security_headers() -> tuple[tuple[str, str], ...]:
    """Return name and value of each header, the same for every reply."""
    return (
        ("Content-Security-Policy", _policy()),
        ("X-Frame-Options", "SAMEORIGIN"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
    )


def _policy() -> str:
    """Return the policy of what the pages may load: files of this server, and what Streamlit writes into a page."""
    page = Path(file_util.get_static_dir(), "index.html").read_text("utf-8")
    scripts_of_page = (*_INLINE.findall(page), CHAT_SCRIPT, FOCUS, FOLDERS, LANGUAGE, SOURCES, PICTURES)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts_of_page)
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {scripts}",
            "style-src 'self' 'unsafe-inline'",  # Streamlit styles its parts, and st.html ours, in the page
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'self'",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )
