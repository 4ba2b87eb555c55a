"""A wing: the knowledge bases as tools for assistants, by the Model Context Protocol (MCP)."""
