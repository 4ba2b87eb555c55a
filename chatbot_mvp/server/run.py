"""Starts the server of ``chatbot-mvp serve``."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from starlette.types import ASGIApp

from chatbot_mvp import logs
from chatbot_mvp.app import App
from chatbot_mvp.server.connections import KEEP_ALIVE_SECONDS, connection_with
from chatbot_mvp.server.openai import build_server
from chatbot_mvp.server.warmup import WarmUp
from chatbot_mvp.settings.model import Settings

_BACKLOG = 128
_LAST_WORDS_S = 5


def server_for(app: App, token: str, host: str, port: int, warm_up: WarmUp | None = None) -> Any:
    """Return the ``uvicorn.Server`` of the chat's endpoint.

    Args:
        host, port: where it listens.
        warm_up: reported by ``/health``; None if nothing is loaded in advance.
    """
    return bounded_server(build_server(app, token, host, warm_up), app.settings, host, port)


def bounded_server(application: ASGIApp, settings: Settings, host: str, port: int) -> Any:
    """Return the ``uvicorn.Server`` of an application for programs, with bounds on its connections."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            application,
            host=host,
            port=port,
            http=connection_with(settings.serve_max_connections),
            ws="none",
            backlog=_BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_LAST_WORDS_S,
            # No reply depends on the client's address, so no header may set it.
            proxy_headers=False,
            server_header=False,
            log_level="warning",
            # With None, uvicorn sends its log lines to the existing handlers.
            log_config=None if logs.is_jsonl() else uvicorn.config.LOGGING_CONFIG,
        )
    )


def token_of(settings: Settings) -> str:
    """Return ``SERVE_TOKEN``. Without it, generate a token and print it once on stderr."""
    if token := settings.serve_token.get_secret_value():
        return token
    token = secrets.token_urlsafe(24)
    logs.say(f"SERVE_TOKEN is not set; token of this run: {token}", logging.WARNING)
    return token


def serve(app: App, host: str, port: int) -> None:
    """Serve until stopped, with the token of ``token_of``."""
    token = token_of(app.settings)
    logs.say(f"http://{host}:{port}/v1")
    warm_up = WarmUp(app)
    warm_up.start()
    server_for(app, token, host, port, warm_up).run()
