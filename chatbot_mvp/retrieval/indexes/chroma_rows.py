"""The rows of one collection in ChromaDB: which there are, and how they come and go.

A row's id is made of its vector, so the versions of a knowledge base share what did not change. Rows are added without
touching others. Before rows are deleted the collection gets another *stamp*, by which whoever searches it, in any
process, sees that its own rows may be among them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Ints
from chatbot_mvp.types import Progress, ProgressCallback

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

ADD_ROWS = 2_000
"""Rows per request; ChromaDB rejects more than 5,461."""

# With these values HNSW rankings were exact and repeatable on 11,860 vectors; its defaults had a recall of 0.994. The
# inner product of unit vectors is their cosine; for "cosine" ChromaDB would change the last bits of what it stores.
_HNSW = {"space": "ip", "ef_construction": 400, "max_neighbors": 48, "ef_search": 500}
_STAMP, _DELETED = "stamp", "deleted"
_NEW = "-new"  # ends the name of a collection that will take the place of another


@dataclass(frozen=True)
class Rows:
    """A collection as it was seen."""

    collection: Collection
    stamp: str
    """Changes before rows are deleted."""
    deleted: int
    """Rows that were deleted since the collection was created; its graph still has them."""

    @property
    def state(self) -> tuple[Any, str]:
        """Equal for two views between which no row was deleted."""
        return self.collection.id, self.stamp

    def ids(self) -> list[str]:
        """Return the ids of all rows."""
        return list(self.collection.get(include=[])["ids"])

    def add(
        self,
        ids: Sequence[str],
        rows: Ints,
        matrix: Vectors,
        total: int,
        progress: ProgressCallback,
        reported: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Add rows of ``matrix``; those whose ids are there already stay as they are.

        Args:
            rows: row of each id.
            total: rows of which these are the missing ones, for ``progress`` in the phase "index".
            reported: converts exceptions of ChromaDB, and none of ``progress``.
        """
        before = total - len(ids)
        for begin in range(0, len(ids), ADD_ROWS):
            progress(Progress("index", before + begin, total, 0.0, before))
            part = slice(begin, begin + ADD_ROWS)
            with reported():
                self.collection.add(ids=list(ids[part]), embeddings=matrix[rows[part]])
        progress(Progress("index", total, total, 0.0, before))

    def vectors(self, ids: Sequence[str]) -> tuple[list[str], Vectors]:
        """Return the ids among ``ids`` that are there, and their vectors, shape (ids found, dimensions)."""
        answer = self.collection.get(ids=list(ids), include=["embeddings"])
        found = answer["embeddings"]
        return list(answer["ids"]), np.asarray([] if found is None else found, dtype=np.float32)

    def delete(self, ids: Sequence[str]) -> Rows:
        """Delete rows and return the collection as it is then. If it is stopped, some of them are left."""
        told = _marked(self.collection, self.deleted + len(ids))
        for begin in range(0, len(ids), ADD_ROWS):
            told.collection.delete(ids=list(ids[begin : begin + ADD_ROWS]))
        return told


def seen(api: ClientAPI, name: str) -> Rows | None:
    """Return a collection as it is now; None if there is none."""
    from chromadb.errors import NotFoundError

    try:
        collection = api.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None
    known = collection.metadata or {}
    return Rows(collection, str(known.get(_STAMP, "")), int(known.get(_DELETED, 0)))


def opened(api: ClientAPI, name: str, owner: str) -> Rows:
    """Return a collection, which is created if there is none."""
    from chromadb.errors import ChromaError

    if (found := seen(api, name)) is not None:
        return found
    try:
        return _created(api, name, owner)
    except ChromaError:  # another process created it at the same time
        if (found := seen(api, name)) is None:
            raise
        return found


def rebuilt(api: ClientAPI, name: str, owner: str, rows: Rows) -> Rows:
    """Put a new collection with the same rows in the place of ``rows``, whose graph has many that were deleted.

    The old one answers until the new one is complete. Between the two there is a moment without either.
    """
    drop(api, name + _NEW)
    following = _created(api, name + _NEW, owner)
    ids = sorted(rows.ids())
    for begin in range(0, len(ids), ADD_ROWS):
        part, matrix = rows.vectors(ids[begin : begin + ADD_ROWS])
        following.collection.add(ids=part, embeddings=matrix)
    drop(api, name)
    following.collection.modify(name=name)
    return following


def drop(api: ClientAPI, name: str) -> None:
    """Delete a collection if it is there."""
    from chromadb.errors import NotFoundError

    with suppress(NotFoundError):
        api.delete_collection(name)


def names(api: ClientAPI) -> Iterator[str]:
    """Yield the names of all collections."""
    offset = 0
    while batch := list(api.list_collections(limit=100, offset=offset)):
        yield from (item.name for item in batch)
        offset += len(batch)


def _created(api: ClientAPI, name: str, owner: str) -> Rows:
    configuration: Any = {"hnsw": _HNSW}
    metadata = {"owner": owner, _STAMP: uuid.uuid4().hex, _DELETED: 0}
    collection = api.create_collection(name, embedding_function=None, configuration=configuration, metadata=metadata)
    return Rows(collection, str(metadata[_STAMP]), 0)


def _marked(collection: Collection, deleted: int) -> Rows:
    stamp = uuid.uuid4().hex
    collection.modify(metadata={**(collection.metadata or {}), _STAMP: stamp, _DELETED: deleted})
    return Rows(collection, stamp, deleted)
