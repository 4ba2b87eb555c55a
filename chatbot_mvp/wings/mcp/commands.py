"""The table of the command ``mcp``."""

from chatbot_mvp.cli.lazy import Commands, lazy

COMMANDS = Commands(
    [
        *lazy(
            "chatbot_mvp.wings.mcp.cli:mcp",
            {"mcp": "Offer the knowledge bases to assistants as tools, by the Model Context Protocol (MCP)."},
        )
    ]
)
