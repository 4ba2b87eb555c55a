"""INDEX_ENGINE=milvus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, VectorStore, vectors_key
from chatbot_mvp.retrieval.indexes.engines import IndexEngine
from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress
from chatbot_mvp.wings.milvus.client import (
    LARGEST_RESULT,
    VECTORS,
    MilvusConnection,
    MilvusServer,
    connect,
    delete_rows,
    milvus_server,
)
from chatbot_mvp.wings.milvus.errors import MilvusError
from chatbot_mvp.wings.milvus.terms import SETTLING_S, MilvusTerms, vocabulary_of

_DATA_SETS = "corpus"
"""Owner of the rows of data sets."""

_HNSW = {"M": 48, "efConstruction": 400}
_EF = 500  # vectors compared per search, as in ChromaDB
_ROWS = 1_000  # per request
_QUERIES = 256  # per request
_TIE_MARGIN = 16  # rows fetched beyond the limit, so that ties at the cut can be broken by row


@dataclass(frozen=True, slots=True)
class MilvusIndexes:
    """The indexes on one server; each call but the first uses the same connection.

    Raises:
        MissingPackage, MilvusError (index_credentials_refused, index_engine_unavailable): from every method.
    """

    server: MilvusServer

    def words(
        self, chunks: Sequence[Chunk], analyzer: Analyzer, owner: str, folder: Path, progress: ProgressCallback
    ) -> LexicalSearch:
        return MilvusTerms.build(connect(self.server), chunks, analyzer, owner or _DATA_SETS, folder.name, progress)

    def vectors(self, matrix: Vectors, model_id: str, owner: str, progress: ProgressCallback) -> VectorStore:
        digest = vectors_key(model_id, matrix)
        return _MilvusVectors.build(connect(self.server), matrix, owner or _DATA_SETS, digest, progress)

    def keep(self, owner: str, words: Sequence[LexicalSearch], vectors: Sequence[VectorStore]) -> None:
        of_words = [one.corpus for one in words if isinstance(one, MilvusTerms)]
        of_vectors = [one.corpus for one in vectors if isinstance(one, _MilvusVectors)]
        vocabularies = map(vocabulary_of, of_words)
        delete_rows(connect(self.server), owner, [*of_words, *vocabularies, *of_vectors])

    def delete(self, owner: str) -> None:
        delete_rows(connect(self.server), owner)


ENGINE = IndexEngine("milvus", lambda settings: MilvusIndexes(milvus_server(settings)))


class _MilvusVectors:
    """The vectors of one corpus on a Milvus server. Safe to share between threads.

    The search is approximate (HNSW). A test checks its recall@20 against exact search.
    """

    def __init__(self, connection: MilvusConnection, name: str, corpus: str, matrix: Vectors) -> None:
        self._connection = connection
        self._name = name
        self.corpus = corpus
        """What its rows bear in common."""
        self._count = len(matrix)
        self._exact = ExactVectors(matrix)
        self._settled_at = time.monotonic() + SETTLING_S

    @property
    def matrix(self) -> Vectors:
        return self._exact.matrix

    @classmethod
    def build(
        cls,
        connection: MilvusConnection,
        matrix: Vectors,
        owner: str,
        digest: str,
        progress: ProgressCallback = ignore_progress,
    ) -> _MilvusVectors:
        """Open the vectors of a corpus, and write them first if the server does not have all of them.

        Args:
            matrix: shape (rows, dimensions), rows of unit length; at least one row.
            owner: id of a knowledge base, or "corpus".
            digest: identifies the content; equal digests must mean equal matrices.
            progress: called in the phase "index"; may raise to stop, then the next build starts again.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable)
        """
        from pymilvus import DataType

        name, corpus = f"{VECTORS}{matrix.shape[1]}", f"{owner}.{digest}"
        connection.open_collection(
            name,
            {"datatype": DataType.FLOAT_VECTOR, "dim": matrix.shape[1]},
            {"index_type": "HNSW", "metric_type": "IP", "params": _HNSW},
        )
        if connection.count(name, corpus) != len(matrix):
            for begin in range(0, len(matrix), _ROWS):
                progress(Progress("index", begin, len(matrix)))
                rows = range(begin, min(begin + _ROWS, len(matrix)))
                common = {"owner": owner, "corpus": corpus, "text": ""}
                connection.upsert(
                    name, [{**common, "id": f"{corpus}/{row}", "row": row, "vector": matrix[row]} for row in rows]
                )
            connection.seal(name)
            progress(Progress("index", len(matrix), len(matrix)))
        return cls(connection, name, corpus, matrix)

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """Search as ``VectorStore.search`` describes, for at most 16,384 results per query.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable)
            MilvusError (index_rows_missing): rows of the corpus were deleted.
        """
        limit = min(limit, self._count, LARGEST_RESULT)
        if limit <= 0:
            return [[] for _ in queries]
        fetched = min(limit + _TIE_MARGIN, self._count, LARGEST_RESULT)
        consistency = "Strong" if time.monotonic() < self._settled_at else "Bounded"
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(queries), _QUERIES):
            block = list(np.ascontiguousarray(queries[begin : begin + _QUERIES], dtype=np.float32))
            answer = self._connection.search(self._name, self.corpus, block, fetched, consistency, ef=max(_EF, fetched))
            for query, hits in zip(block, answer, strict=True):
                if len(hits) < limit:
                    raise MilvusError("index_rows_missing", corpus=self.corpus, place=self._connection.server.address)
                # The server sums in another order before and after it has indexed a row: the last digit would change.
                rows = np.array(sorted(row for row, _ in hits), dtype=np.int64)
                exact = zip(rows.tolist(), self.similarities(query, rows).tolist(), strict=True)
                found.append(sorted(exact, key=lambda hit: (-hit[1], hit[0]))[:limit])
        return found

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        # The matrix is in memory since the vectors were computed; fetching hundreds of rows back would be slower.
        return self._exact.similarities(query, rows)
