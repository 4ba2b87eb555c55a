"""Errors of indexes on a Milvus server."""

from __future__ import annotations

from chatbot_mvp.errors import ConfigurationError


class MilvusError(ConfigurationError):
    pass
