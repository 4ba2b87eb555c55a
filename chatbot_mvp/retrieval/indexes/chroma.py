"""A ``VectorStore`` in ChromaDB, in local files or on a server. Only vectors are stored there, no texts.

chromadb is imported when a client is created: the import takes a second, which strategies without vectors avoid.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import ConfigurationError, InvalidSetting, MissingPackage
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, vectors_key
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

ADD_ROWS = 2_000
"""Rows per ``add`` request; ChromaDB rejects more than 5,461."""

# With these values HNSW rankings were exact and repeatable on 11,860 vectors; its defaults had a recall of 0.994.
_HNSW = {"space": "cosine", "ef_construction": 400, "max_neighbors": 48, "ef_search": 500}
_QUERIES = 256  # per request
_LARGEST_RESULT = 10_000  # results per query; ChromaDB fails with tens of thousands
NEAREST = 1_000
"""Rows whose cosines are read of a question; the others count as far as the furthest of these."""
_TIE_MARGIN = 16  # rows fetched beyond the limit, so that ties at the cut can be broken by row
_DECIMALS = 6  # as in exact search: equal vectors get equal scores


@dataclass(frozen=True)
class ChromaClient:
    """A connection to ChromaDB and its location."""

    api: ClientAPI
    place: str
    """Folder or "host:port", for error messages."""
    lock_path: Path
    """Lock file held while a collection is built."""


_clients: dict[str, ChromaClient] = {}
_clients_lock = threading.Lock()


def chroma_client(folder: Path, host: str = "") -> ChromaClient:
    """Return this process's only client for a folder, or for the server ``host`` ("host:port").

    Raises:
        MissingPackage: chromadb is not installed.
        InvalidSetting: ``host`` is not of the form host:port.
        ConfigurationError (vector_store_unavailable): the server does not answer, or the files cannot be opened.
    """
    key = host or str(folder.resolve())
    with _clients_lock:  # two clients on one path must have equal settings, and the first query would race
        if key not in _clients:
            _clients[key] = _connect(folder, host)
        return _clients[key]


def _connect(folder: Path, host: str) -> ChromaClient:
    address = _parse_host(host) if host else None
    try:
        import chromadb
        from chromadb.config import Settings as ChromaSettings
    except ImportError as error:
        raise MissingPackage(
            feature="The vector store ChromaDB", package="chromadb", command="pip install chromadb"
        ) from error
    options = ChromaSettings(anonymized_telemetry=False)
    make_folder(folder)
    place = host or str(folder)
    with _reported(place):
        if address is None:
            api = chromadb.PersistentClient(path=str(folder), settings=options)
        else:
            api = chromadb.HttpClient(host=address[0], port=address[1], settings=options)
    return ChromaClient(api, place, folder / "build.lock")


def _parse_host(host: str) -> tuple[str, int]:
    match = re.fullmatch(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})", host)
    if match is None or not 0 < int(match.group(2)) < 65_536:
        raise InvalidSetting(name="CHROMA_HOST", found=host, reason="legal is host:port, for example localhost:8000")
    return match.group(1), int(match.group(2))


@contextmanager
def _reported(place: str) -> Iterator[None]:
    """Convert exceptions of ChromaDB and its HTTP client to ConfigurationError with the place."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    # ChromaDB raises ValueError for a refused connection, and ChromaError or RuntimeError for problems with its files.
    except (ChromaError, httpx.HTTPError, OSError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            "vector_store_unavailable", place=place, reason=str(error) or type(error).__name__
        ) from error


class ChromaVectors:
    """A ``VectorStore`` over one collection. Safe to share between threads.

    The search is approximate (HNSW). A test checks its recall@20 against exact search.
    """

    def __init__(self, collection: Collection, matrix: Vectors, place: str, keep: bool = True) -> None:
        self._collection = collection
        self._count = len(matrix)
        self._exact = ExactVectors(matrix) if keep else None
        self._place = place

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
        """Open the collection ``<owner>.<digest>``, and fill it with ``matrix`` unless it is complete already.

        Args:
            matrix: shape (rows, dimensions), rows of unit length; at least one row.
            owner: id of a knowledge base, as for ``delete_collections``; "" for a data set.
            digest: identifies the content; equal digests must mean equal matrices.
            progress: called in the phase "index"; may raise to stop, then the next build starts again.
            keep: keep ``matrix`` in memory too, which makes ``similarities`` of many rows fast.

        Raises:
            ConfigurationError (vector_store_unavailable): ChromaDB does not answer, or its files cannot be used.
        """
        name = collection_name(owner, digest)
        with _reported(client.place):
            collection = _complete(client.api, name, len(matrix))
        if collection is None:
            # If two processes build the same corpus, the second waits and then finds the collection complete.
            with FileLock(client.lock_path):
                with _reported(client.place):
                    collection = _complete(client.api, name, len(matrix))
                    if collection is None:
                        _drop(client.api, name)
                if collection is None:
                    collection = _fill(client, name, owner, matrix, progress)
        return cls(collection, matrix, client.place, keep)

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """Search as ``VectorStore.search`` describes, for at most 10,000 results per query.

        Raises:
            ConfigurationError: ChromaDB does not answer, its files cannot be used, or the collection was emptied.
        """
        limit = min(limit, self._count, _LARGEST_RESULT)
        if limit <= 0:
            return [[] for _ in queries]
        fetched = min(limit + _TIE_MARGIN, self._count, _LARGEST_RESULT)
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(queries), _QUERIES):
            block = np.ascontiguousarray(queries[begin : begin + _QUERIES], dtype=np.float32)
            with _reported(self._place):
                answer = self._collection.query(query_embeddings=block, n_results=fetched, include=["distances"])
            for ids, distances in zip(answer["ids"], answer["distances"] or [], strict=True):
                if not ids:
                    raise self._incomplete(0, self._count)
                hits = [(int(id_), round(1.0 - float(d), _DECIMALS)) for id_, d in zip(ids, distances, strict=True)]
                found.append(sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:limit])
        return found

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return exact cosines as ``VectorStore.similarities`` describes.

        Raises:
            ConfigurationError: ChromaDB does not answer, or the collection does not have the rows any more.
        """
        if self._exact is not None:
            return self._exact.similarities(query, rows)
        distinct, place = np.unique(rows, return_inverse=True)
        wanted = [str(row) for row in distinct.tolist()]
        if not wanted:
            return np.zeros(0, dtype=np.float32)
        with _reported(self._place):
            answer = self._collection.get(ids=wanted, include=["embeddings"])
        found = answer["embeddings"]
        if found is None or len(answer["ids"]) < len(wanted):
            raise self._incomplete(len(answer["ids"]), len(wanted))
        at = {id_: position for position, id_ in enumerate(answer["ids"])}
        matrix = np.asarray(found, dtype=np.float32)[[at[row] for row in wanted]]
        return ExactVectors(matrix).similarities(query, place)

    def cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of one query with every row, shape (rows,).

        The collection is asked for the NEAREST rows. All others get the lowest cosine that was found.

        Raises:
            ConfigurationError: ChromaDB does not answer, or the collection does not have its rows any more.
        """
        [hits] = self.search(query[np.newaxis], NEAREST)
        found = np.full(self._count, hits[-1][1], dtype=np.float32)
        found[[row for row, _ in hits]] = [cosine for _, cosine in hits]
        return found

    def _incomplete(self, found: int, wanted: int) -> ConfigurationError:
        reason = f"the collection {self._collection.name!r} has {found} of {wanted} rows; restart to build it again"
        return ConfigurationError("vector_store_unavailable", place=self._place, reason=reason)


def chroma_vectors(
    folder: Path,
    host: str,
    matrix: Vectors,
    model_id: str,
    owner: str,
    progress: ProgressCallback = ignore_progress,
    keep: bool = True,
) -> ChromaVectors:
    """Open or build the collection of ``matrix``. Raises as ``chroma_client`` and ``ChromaVectors.build``.

    Args:
        folder, host: as for ``chroma_client``.
        model_id: id of the embedding model.
        owner: id of a knowledge base; "" for a data set.
        matrix, progress, keep: as for ``ChromaVectors.build``.
    """
    client = chroma_client(folder, host)
    return ChromaVectors.build(client, matrix, owner, vectors_key(model_id, matrix), progress, keep)


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
    prefix = collection_name(owner, "")
    with _reported(client.place):
        names = [item.name for item in _collections(client.api) if item.name.startswith(prefix)]
        for name in names:
            _drop(client.api, name)
    return len(names)


def _collections(api: ClientAPI) -> Iterator[Collection]:
    page = 100
    offset = 0
    while batch := list(api.list_collections(limit=page, offset=offset)):
        yield from batch
        offset += len(batch)


def _complete(api: ClientAPI, name: str, rows: int) -> Collection | None:
    """Return the collection if it has all ``rows``; None if it is missing or its build was interrupted."""
    from chromadb.errors import NotFoundError

    try:
        collection = api.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None
    return collection if collection.count() == rows else None


def _drop(api: ClientAPI, name: str) -> None:
    from chromadb.errors import NotFoundError

    try:
        api.delete_collection(name)
    except NotFoundError:
        return


def _fill(client: ChromaClient, name: str, owner: str, matrix: Vectors, progress: ProgressCallback) -> Collection:
    configuration: Any = {"hnsw": _HNSW}
    with _reported(client.place):
        collection = client.api.create_collection(
            name, embedding_function=None, configuration=configuration, metadata={"owner": owner}
        )
    for begin in range(0, len(matrix), ADD_ROWS):
        progress(Progress("index", begin, len(matrix)))
        rows = range(begin, min(begin + ADD_ROWS, len(matrix)))
        with _reported(client.place):
            collection.add(ids=[str(row) for row in rows], embeddings=matrix[rows.start : rows.stop])
    progress(Progress("index", len(matrix), len(matrix)))
    return collection
