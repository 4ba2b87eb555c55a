"""The VectorStore protocol, and which store a corpus gets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.types import ProgressCallback

StoreKind = Literal["auto", "exact", "chroma"]


class VectorStore(Protocol):
    """The vectors of a corpus, searchable. Rows are the vectors' positions when the store was built."""

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """For each query the best (row, cosine in -1 to 1), best first, ties by row.

        Args:
            queries: shape (queries, dimensions), rows of unit length.
            limit: results per query; fewer come back from a smaller corpus.
        """

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Exact cosines, shape (len(rows),), of one query of shape (dimensions,) with the vectors of ``rows``."""


@dataclass(frozen=True, slots=True)
class VectorStoreChoice:
    """Where the vectors of one corpus go."""

    kind: StoreKind = "auto"
    owner: str = ""
    """A knowledge base's id; "" for a benchmark's corpus."""
    folder: Path = Path()
    """Of ChromaDB's files; not used with a server."""
    host: str = ""
    """"host:port" of a ChromaDB server; "" for files in ``folder``."""

    @property
    def uses_chroma(self) -> bool:
        """``auto`` keeps a knowledge base in ChromaDB, and searches a benchmark's corpus exactly."""
        return self.kind == "chroma" or (self.kind == "auto" and bool(self.owner))

    def make(self, matrix: Vectors, model_id: str, progress: ProgressCallback) -> VectorStore:
        """The store of ``matrix``; an equal matrix under an equal owner is stored once.

        Raises:
            MissingPackage, InvalidSetting, VectorStoreUnavailable: of ChromaDB.
        """
        # Nothing to search, and a collection cannot know the dimensions of no vector.
        if not self.uses_chroma or len(matrix) == 0:
            return ExactVectors(matrix)
        from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client

        digest = hashlib.sha256(f"{model_id} {matrix.shape} ".encode() + matrix.tobytes()).hexdigest()[:24]
        client = chroma_client(self.folder, self.host)
        return ChromaVectors.build(client, matrix, self.owner or "corpus", digest, progress)
