"""Rows of the matrix of missing parts: the package and the server."""

from __future__ import annotations

from tests.missing_parts import Part, for_search

_MILVUS = {"INDEX_ENGINE": "milvus", "MILVUS_ADDRESS": "http://CLOSED", "RETRIEVAL_STRATEGY": "LEXICAL"}

PARTS = {
    "pymilvus absent": Part(("pymilvus",)),
    "pymilvus absent and chosen": Part(("pymilvus",), _MILVUS, ("index",), for_search("missing_package")),
    "Milvus out of reach": Part((), _MILVUS, ("index",), for_search("index_engine_unavailable")),
}
"""As ``tests.missing_parts.PARTS``."""
