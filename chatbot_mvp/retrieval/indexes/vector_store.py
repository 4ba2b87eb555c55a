"""VECTOR_STORE: where the vectors of one corpus are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.chroma import chroma_vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, RowCosines, VectorStore
from chatbot_mvp.retrieval.indexes.engines import Indexes, LocalIndexes
from chatbot_mvp.types import ProgressCallback

StoreKind = Literal["auto", "exact", "chroma"]


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
    engine: Indexes | None = None
    """What keeps the inverted index and, if ``kind`` is "auto", the vectors; None for ``LocalIndexes`` with the same
    folder and host."""

    @property
    def indexes(self) -> Indexes:
        """What keeps the inverted index and, if ``kind`` is "auto", the vectors."""
        return self.engine if self.engine is not None else LocalIndexes(self.folder, self.host)

    def make(self, matrix: Vectors, model_id: str, progress: ProgressCallback) -> VectorStore:
        """Create the store for ``matrix``. Rows that the owner has stored before, for another version, are used again.

        Args:
            matrix: shape (rows, dimensions), rows of unit length.
            model_id: id of the embedding model, part of the collection's name.

        Raises:
            MissingPackage, InvalidSetting, ConfigurationError (vector_store_unavailable): ChromaDB cannot be used.
            ConfigurationError: the engine of INDEX_ENGINE cannot be used.
        """
        # A collection without vectors has no dimensions, and there is nothing to search.
        if len(matrix) == 0 or self.kind == "exact":
            return ExactVectors(matrix)
        if self.kind == "auto":
            return self.indexes.vectors(matrix, model_id, self.owner, progress)
        return chroma_vectors(self.folder, self.host, matrix, model_id, self.owner, progress)

    def rows(self, matrix: Vectors, model_id: str, progress: ProgressCallback, part: str) -> RowCosines:
        """Create the store for the vectors of windows or sentences: ChromaDB where it was chosen, else exact in memory.

        Args:
            matrix, model_id: as for ``make``.
            part: "windows" or "sentences".

        Raises:
            MissingPackage, InvalidSetting, ConfigurationError (vector_store_unavailable): ChromaDB cannot be used.
        """
        if len(matrix) == 0 or self.kind != "chroma":
            return ExactVectors(matrix)
        return chroma_vectors(self.folder, self.host, matrix, model_id, self.owner, progress, False, part)
