"""Errors of indexes on a Milvus server."""

from __future__ import annotations

from chatbot_mvp.errors.configuration import ConfigurationError


class MilvusError(ConfigurationError):
    texts = {
        "index_engine_unavailable": "The Milvus server at {place!r} cannot be used: {reason}. Check MILVUS_ADDRESS "
        "and that the server is running, or set INDEX_ENGINE=local.",
        "index_credentials_refused": "The Milvus server at {place!r} refuses the credentials: {reason}. Check "
        "MILVUS_TOKEN (user:password or an API key), and that its user may create, write and search collections in "
        "MILVUS_DATABASE.",
        "index_rows_missing": "The index {corpus!r} on the Milvus server at {place!r} is incomplete: rows were "
        "deleted since it was opened, perhaps by another server of this application. Ask again when that server has "
        "built it, or restart this one, which builds it at the next question.",
    }
