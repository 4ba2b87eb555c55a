"""Checks host, origin and token of a request before it reaches a route."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chatbot_mvp.server.errors import BadRequest
from chatbot_mvp.settings.network import HostRule


def has_token(headers: Headers, token: str) -> bool:
    """Return whether a request carries the bearer token. Takes equally long for every wrong one."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def wrong_token() -> Response:
    """Return the reply to a request without the token."""
    error = BadRequest("The bearer token is missing or wrong.", 401, code="invalid_api_key")
    return error.response(WWW_Authenticate="Bearer")


class HostGuard:
    """Refuses requests for another host, and requests that a page of another site makes in a browser."""

    def __init__(self, app: ASGIApp, rule: HostRule, origins: list[str]) -> None:
        """``origins`` are those of other sites that may send requests (SERVE_CORS_ORIGINS)."""
        self._app = app
        self._rule = rule
        self._origins = {origin.rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host"), headers.get("origin")
            if not self._rule.allows(host):
                await self._refuse("host", host, "ALLOWED_HOSTS", scope, receive, send)
                return
            if origin is not None and origin not in self._origins and _host_of(origin) != host:
                await self._refuse("origin", origin, "SERVE_CORS_ORIGINS", scope, receive, send)
                return
        await self._app(scope, receive, send)

    @staticmethod
    async def _refuse(kind: str, found: str | None, setting: str, scope: Scope, receive: Receive, send: Send) -> None:
        told = f"The {kind} {found!r} is not allowed. If it is yours, add it to {setting}."
        await BadRequest(told, 403, code=f"{kind}_not_allowed").response()(scope, receive, send)


def _host_of(origin: str) -> str | None:
    """Return the host and port of an origin; None if it is none, as "http://[" is."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
