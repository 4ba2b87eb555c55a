"""A ``VectorStore`` in ChromaDB, in local files or on a server. Only vectors are stored there, no texts.

The versions of a knowledge base share a collection (see ``chroma_rows``); each searches its own rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.retrieval.arrays import Array, Ints, entries, offsets
from chatbot_mvp.retrieval.indexes.chroma_connection import ChromaClient, reported
from chatbot_mvp.retrieval.indexes.chroma_connection import chroma_client as chroma_client
from chatbot_mvp.retrieval.indexes.chroma_rows import Rows, drop, names, opened, seen
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, vectors_key
from chatbot_mvp.types import ProgressCallback, ignore_progress

_BYTES = 12  # of a hash: a billion different rows share an id once in 10^11 times

T = TypeVar("T")
_QUERIES = 256  # per request
_LARGEST_RESULT = 10_000  # results per query; ChromaDB fails with tens of thousands
NEAREST = 1_000
"""Rows whose cosines are read of a question; the others count as far as the furthest of these."""
_TIE_MARGIN = 16  # rows fetched beyond the limit, so that ties at the cut can be broken by row
_DECIMALS = 6  # as in exact search: equal vectors get equal scores
# ChromaDB compares up to a hundred rows by other means than more, which changes the last bits of a cosine.
_ALWAYS_KEPT = 256
_TRIES = 5  # searches between which other rows are deleted


class RowIds:
    """The ids of the rows of one matrix, as hex digits. Equal rows have one id.

    Args:
        matrix: shape (rows, dimensions).
    """

    def __init__(self, matrix: Vectors) -> None:
        found = [hashlib.blake2b(row, digest_size=_BYTES).hexdigest() for row in np.ascontiguousarray(matrix)]
        names = np.array(found, f"S{2 * _BYTES}")
        self._ids, self._first, self._number = np.unique(names, return_index=True, return_inverse=True)
        self._rows = np.argsort(self._number, kind="stable")
        self._start = offsets(np.bincount(self._number, minlength=len(self._ids)))
        self.count = len(found)
        """Number of rows of the matrix."""

    def __len__(self) -> int:
        """Return the number of distinct ids."""
        return len(self._ids)

    @property
    def distinct(self) -> list[str]:
        """All ids, each once, in rising order."""
        return _texts(self._ids)

    def missing(self, present: Collection[str]) -> tuple[list[str], Ints]:
        """Return the distinct ids that are not in ``present``, and the first row of each."""
        there = np.isin(self._ids, np.array(list(present), "S")) if present else np.zeros(len(self), bool)
        return _texts(self._ids[~there]), self._first[~there].astype(np.int64)

    def of_rows(self, rows: Ints) -> list[str]:
        """Return the id of each of some rows."""
        return _texts(self._ids[self._number[rows]])

    def rows_of(self, ids: Sequence[str]) -> tuple[Ints, Ints]:
        """Return (the rows that have some ids; for each, the place of its id in ``ids``). Unknown ids are ignored."""
        if not ids or not len(self):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        asked = np.array(ids, "S")
        at = np.minimum(np.searchsorted(self._ids, asked), len(self) - 1)
        known = np.flatnonzero(self._ids[at] == asked)
        owner, places = entries(self._start, at[known])
        return self._rows[places].astype(np.int64), known[owner]


def _texts(ids: Array) -> list[str]:
    return [id_.decode() for id_ in ids.tolist()]


class ChromaVectors:
    """A ``VectorStore`` over the rows of one version in a collection. Safe to share between threads.

    The collection may have rows of other versions: they are found as well and left out. The search is approximate
    (HNSW). A test checks its recall@20 against exact search.
    """

    def __init__(self, client: ChromaClient, name: str, owner: str, ids: RowIds, matrix: Vectors | None) -> None:
        """
        Args:
            matrix: the vectors; None if they are not kept in memory.
        """
        self.name = name
        """Name of the collection."""
        self.ids = ids
        self.matrix = matrix
        self._client = client
        self._owner = owner
        self._rows: Rows | None = None  # as last seen with all rows of this version

    @classmethod
    def build(
        cls,
        client: ChromaClient,
        matrix: Vectors,
        owner: str,
        digest: str,
        progress: ProgressCallback = ignore_progress,
        keep: bool = True,
    ) -> ChromaVectors:
        """Open the collection ``<owner>.<digest>``, and add the rows of ``matrix`` that it does not have.

        Args:
            matrix: shape (rows, dimensions), rows of unit length; at least one row.
            owner: id of a knowledge base, as for ``delete_collections``; "" for a data set.
            digest: names the collection. Matrices of other versions may be in it too.
            progress: called in the phase "index" if rows are missing; may raise to stop, then the next build goes on.
            keep: keep ``matrix`` in memory too, which makes ``similarities`` of many rows fast.

        Raises:
            ConfigurationError (vector_store_unavailable): ChromaDB does not answer, or its files cannot be used.
        """
        kept = matrix if keep or len(matrix) <= _ALWAYS_KEPT else None
        store = cls(client, collection_name(owner, digest), owner, RowIds(matrix), kept)
        store._complete(matrix, progress)
        return store

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """Search as ``VectorStore.search`` describes, for at most 10,000 results per query.

        Raises:
            ConfigurationError: ChromaDB does not answer, its files cannot be used, or the collection was emptied.
        """
        limit = min(limit, self.ids.count, _LARGEST_RESULT)
        if limit <= 0:
            return [[] for _ in queries]
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(queries), _QUERIES):
            block = np.ascontiguousarray(queries[begin : begin + _QUERIES], dtype=np.float32)
            for rows, cosines in self._checked(partial(self._nearest, block, limit)):
                order = np.lexsort((rows, -cosines))[:limit]
                found.append(list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True)))
        return found

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return exact cosines as ``VectorStore.similarities`` describes.

        Raises:
            ConfigurationError: ChromaDB does not answer, or the collection does not have the rows any more.
        """
        if self.matrix is not None:
            return ExactVectors(self.matrix).similarities(query, rows)
        if not len(rows):
            return np.zeros(0, dtype=np.float32)
        distinct, place = np.unique(rows, return_inverse=True)
        wanted = self.ids.of_rows(distinct)

        def ask(collection: Rows) -> Vectors:
            found, matrix = collection.vectors(list(dict.fromkeys(wanted)))
            if len(found) < len(set(wanted)):
                raise _RowsMissing(len(found), len(set(wanted)))
            at = {id_: position for position, id_ in enumerate(found)}
            ordered: Vectors = matrix[[at[id_] for id_ in wanted]]
            return ordered

        return ExactVectors(self._checked(ask)).similarities(query, place)

    def cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of one query with every row, shape (rows,).

        The collection is asked for the NEAREST rows. All others get the lowest cosine that was found.

        Raises:
            ConfigurationError: ChromaDB does not answer, or the collection does not have its rows any more.
        """
        [hits] = self.search(query[np.newaxis], NEAREST)
        found = np.full(self.ids.count, hits[-1][1], dtype=np.float32)
        found[[row for row, _ in hits]] = [cosine for _, cosine in hits]
        return found

    def _nearest(self, queries: Vectors, limit: int, rows: Rows) -> list[tuple[Ints, Vectors]]:
        """Return for each query (rows, cosines) of at least its ``limit`` nearest rows of this version, unordered."""
        enough = min(limit + _TIE_MARGIN, self.ids.count)
        fetched = min(limit + limit // 8 + _TIE_MARGIN, _LARGEST_RESULT)
        found: dict[int, tuple[Ints, Vectors]] = {}
        waiting, own = list(range(len(queries))), None
        while waiting:
            answer = rows.collection.query(
                query_embeddings=queries[waiting], n_results=fetched, include=["distances"], ids=own
            )
            asked, waiting = waiting, []
            for number, ids, distances in zip(asked, answer["ids"], answer["distances"] or [], strict=True):
                mine, places = self.ids.rows_of(ids)
                if len(mine) < enough and len(ids) == fetched and own is None:
                    waiting.append(number)  # the nearest rows are those of other versions
                elif len(mine) < limit:
                    raise _RowsMissing(len(mine), self.ids.count)
                else:
                    found[number] = mine, self._cosines(queries[number], mine, np.array(distances)[places])
            if fetched == _LARGEST_RESULT:
                own = self.ids.distinct
            fetched = min(2 * fetched, _LARGEST_RESULT)
        return [found[number] for number in range(len(queries))]

    def _cosines(self, query: Vectors, rows: Ints, distances: NDArray[np.float64]) -> Vectors:
        """Return rounded cosines that do not depend on how the collection came to be."""
        if self.matrix is None:
            exact: Vectors = np.round(1.0 - distances, _DECIMALS)
        else:
            exact = np.round((self.matrix[rows] * query).sum(axis=1, dtype=np.float32).astype(np.float64), _DECIMALS)
        return exact

    def _checked(self, ask: Callable[[Rows], T]) -> T:
        """Return what ``ask`` finds in the collection while it has all rows of this version.

        Raises:
            ConfigurationError (vector_store_unavailable): it cannot be used, or rows are gone and not in memory.
        """
        from chromadb.errors import ChromaError

        for _ in range(_TRIES):
            before, failed = self._rows, None
            with reported(self._client.place):
                try:
                    found = ask(before) if before is not None else None
                except (_RowsMissing, ChromaError) as error:
                    failed = error
                now = self._now()
                same = before is not None and now is not None and now.state == before.state
                if failed is None and same and found is not None:
                    return found
                if failed is not None and (same or now is None):
                    if isinstance(failed, _RowsMissing):
                        raise self._incomplete(*failed.args)
                    raise failed
            self._complete(self.matrix, ignore_progress)
        raise self._incomplete(0, self.ids.count)

    def _now(self) -> Rows | None:
        """Return the collection as it is; None if it was deleted."""
        if (found := seen(self._client.api, self.name)) is None:
            with FileLock(self._client.lock_path):  # it may be about to be replaced
                found = seen(self._client.api, self.name)
        return found

    def _complete(self, matrix: Vectors | None, progress: ProgressCallback) -> None:
        """See to it that the collection has all rows of this version; add those of ``matrix`` that it lacks."""
        with reported(self._client.place):
            rows = seen(self._client.api, self.name)
            missing = self.ids.missing(rows.ids() if rows is not None else ())
        if rows is None or missing[0]:
            # If two processes build the same version, the second waits and then finds the collection complete.
            with FileLock(self._client.lock_path):
                with reported(self._client.place):
                    rows = opened(self._client.api, self.name, self._owner)
                    missing = self.ids.missing(rows.ids())
                if missing[0] and matrix is None:
                    raise self._incomplete(len(self.ids) - len(missing[0]), len(self.ids))
                if missing[0] and matrix is not None:
                    # What ``progress`` raises is passed on as it is.
                    rows.add(*missing, matrix, len(self.ids), progress, partial(reported, self._client.place))
        self._rows = rows

    def _incomplete(self, found: int, wanted: int) -> ConfigurationError:
        reason = f"the collection {self.name!r} has {found} of {wanted} rows; restart to build it again"
        return ConfigurationError("vector_store_unavailable", place=self._client.place, reason=reason)


class _RowsMissing(Exception):
    """Rows found, rows that there should be."""


def chroma_vectors(
    folder: Path,
    host: str,
    matrix: Vectors,
    model_id: str,
    owner: str,
    progress: ProgressCallback = ignore_progress,
    keep: bool = True,
    part: str = "chunks",
) -> ChromaVectors:
    """Open or complete the collection of the vectors that an embedding model gave.

    All versions of a knowledge base share a collection per ``part``; each data set has its own. Other arguments and
    errors are those of ``chroma_client`` and of ``ChromaVectors.build``.

    Args:
        part: "chunks", "windows" or "sentences": what the rows are vectors of.
    """
    client = chroma_client(folder, host)
    shared = f"{model_id} {matrix.shape[1]} {part}".encode()
    digest = hashlib.sha256(shared).hexdigest()[:24] if owner else vectors_key(model_id, matrix)
    return ChromaVectors.build(client, matrix, owner, digest, progress, keep)


def collection_name(owner: str, digest: str) -> str:
    """Return the collection name ``<owner>.<digest>``, made legal for ChromaDB.

    Legal are 3-512 characters of ``[a-zA-Z0-9._-]`` with a letter or digit at both ends. The owner's part has no dot,
    so a search for the prefix "<owner>." does not match owners whose ids merely begin with the same letters.
    """
    safe = re.sub(r"[^a-zA-Z0-9_-]", "-", owner).strip("-_") or "corpus"
    return f"{safe[:400]}.{digest}"


def delete_collections(client: ChromaClient, owner: str) -> int:
    """Delete all collections of ``owner`` and return their number.

    Raises:
        ConfigurationError (vector_store_unavailable): ChromaDB does not answer, or its files cannot be used.
    """
    with reported(client.place):
        found = collections_of(client, owner)
        for name in found:
            drop(client.api, name)
    return len(found)


def collections_of(client: ChromaClient, owner: str) -> list[str]:
    """Return the names of all collections of ``owner``. Raises what ChromaDB raises."""
    prefix = collection_name(owner, "")
    return [name for name in names(client.api) if name.startswith(prefix)]
