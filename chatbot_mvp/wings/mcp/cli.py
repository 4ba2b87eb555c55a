"""The command ``mcp``."""

from __future__ import annotations

from typing import Annotated

import typer

from chatbot_mvp import logs
from chatbot_mvp.cli.common import EnvOption, open_app
from chatbot_mvp.server.run import bounded_server, token_of
from chatbot_mvp.wings.mcp.serving import http_application, mcp_server

mcp = typer.Typer()


@mcp.command("mcp")
def serve_tools(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, protected by SERVE_TOKEN")] = False,
    host: Annotated[str, typer.Option(help="With --http: address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="With --http")] = 8601,
    env: EnvOption = None,
) -> None:
    """Offer the knowledge bases to assistants as tools, by the Model Context Protocol (MCP)."""
    app = open_app(env)
    if not http:
        server = mcp_server(app)
        app.start()
        server.run("stdio")
        return
    application = http_application(app, token_of(app.settings), host)
    app.start()
    logs.say(f"http://{host}:{port}/mcp")
    bounded_server(application, app.settings, host, port).run()
