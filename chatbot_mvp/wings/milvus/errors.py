"""Errors of indexes on a Milvus server."""

from __future__ import annotations

from chatbot_mvp.errors.configuration import ConfigurationError


class IndexEngineUnavailable(ConfigurationError):
    code = "index_engine_unavailable"
    template = (
        "The Milvus server at {place!r} cannot be used: {reason}. Check MILVUS_ADDRESS and that the server is running, "
        "or set INDEX_ENGINE=local."
    )


class IndexCredentialsRefused(ConfigurationError):
    code = "index_credentials_refused"
    template = (
        "The Milvus server at {place!r} refuses the credentials: {reason}. Check MILVUS_TOKEN (user:password or an API "
        "key), and that its user may create, write and search collections in MILVUS_DATABASE."
    )


class IndexRowsMissing(ConfigurationError):
    code = "index_rows_missing"
    template = (
        "The index {corpus!r} on the Milvus server at {place!r} is incomplete: rows were deleted since it was opened, "
        "perhaps by another server of this application. Ask again when that server has built it, or restart this one, "
        "which builds it at the next question."
    )
