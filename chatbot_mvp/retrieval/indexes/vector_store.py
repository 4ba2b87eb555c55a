"""The VectorStore protocol, and the choice of the place of a corpus' indexes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.milvus.client import MilvusServer, connect
from chatbot_mvp.types import ProgressCallback

CORPUS = "corpus"
"""Stored as the owner of the indexes of data sets."""
StoreKind = Literal["auto", "exact", "chroma"]


class VectorStore(Protocol):
    """Searchable vectors of a corpus. Row numbers are the positions of the vectors when the store was built."""

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """Return for each query its nearest (row, cosine in -1 to 1), best first, ties by row.

        Args:
            queries: shape (queries, dimensions), rows of unit length.
            limit: results per query; a smaller corpus gives fewer.
        """

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return exact cosines, shape (len(rows),), of a query of shape (dimensions,) with the vectors of ``rows``."""


class RowCosines(Protocol):
    """The vectors of a knowledge base's windows or sentences, one per row."""

    def cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of a query of shape (dimensions,) with every row, shape (rows,)."""

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return exact cosines, shape (len(rows),), of a query of shape (dimensions,) with the vectors of ``rows``."""


@dataclass(frozen=True, slots=True)
class VectorStoreChoice:
    """Configures where the indexes of one corpus are stored."""

    kind: StoreKind = "auto"
    owner: str = ""
    """Id of a knowledge base; "" for a benchmark corpus."""
    folder: Path = Path()
    """Folder of ChromaDB's files; unused with a server."""
    host: str = ""
    """"host:port" of a ChromaDB server; "" for files in ``folder``."""
    milvus: MilvusServer | None = None
    """The server for the inverted index and, unless ``kind`` says otherwise, the vectors; None for local indexes."""

    @property
    def uses_chroma(self) -> bool:
        """Whether ChromaDB is used. ``auto`` uses it for knowledge bases, and exact search for benchmark corpora."""
        return self.kind == "chroma" or (self.kind == "auto" and bool(self.owner) and self.milvus is None)

    def make(self, matrix: Vectors, model_id: str, progress: ProgressCallback) -> VectorStore:
        """Create the store for ``matrix``, or reuse it if the owner has stored an equal matrix before.

        Args:
            matrix: shape (rows, dimensions), rows of unit length.
            model_id: id of the embedding model, part of the collection's name.

        Raises:
            MissingPackage, InvalidSetting, VectorStoreUnavailable: ChromaDB cannot be used.
            IndexCredentialsRefused, IndexEngineUnavailable: the Milvus server cannot be used.
        """
        # A collection without vectors has no dimensions, and there is nothing to search.
        uses_milvus = self.milvus is not None and self.kind == "auto"
        if len(matrix) == 0 or not (self.uses_chroma or uses_milvus):
            return ExactVectors(matrix)
        digest = _digest(model_id, matrix)
        if self.milvus is not None and uses_milvus:
            from chatbot_mvp.retrieval.indexes.milvus.vectors import MilvusVectors

            return MilvusVectors.build(connect(self.milvus), matrix, self.owner or CORPUS, digest, progress)
        from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client

        client = chroma_client(self.folder, self.host)
        return ChromaVectors.build(client, matrix, self.owner or CORPUS, digest, progress)

    def rows(self, matrix: Vectors, model_id: str, progress: ProgressCallback) -> RowCosines:
        """Create the store for the vectors of windows or sentences: ChromaDB where it was chosen, else exact in memory.

        Args:
            matrix, model_id: as for ``make``.

        Raises:
            MissingPackage, InvalidSetting, VectorStoreUnavailable: ChromaDB cannot be used.
        """
        if len(matrix) == 0 or self.kind != "chroma":
            return ExactVectors(matrix)
        from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client

        client, digest = chroma_client(self.folder, self.host), _digest(model_id, matrix)
        return ChromaVectors.build(client, matrix, self.owner or CORPUS, digest, progress, keep=False)


def _digest(model_id: str, matrix: Vectors) -> str:
    return hashlib.sha256(f"{model_id} {matrix.shape} ".encode() + matrix.tobytes()).hexdigest()[:24]
