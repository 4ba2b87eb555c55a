"""The protocols of vectors that can be searched, and exact search by matrix product, with reproducible results."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.embedding.transformer import usable_cores
from chatbot_mvp.retrieval.arrays import best_rows

_MANY = 32  # queries; choosing the number of threads takes as long as a product of a few
_BLOCK = 256  # queries per product: 256 x 66,576 scores are 68 MB
_DECIMALS = 6  # the last bits of a product depend on the blocking; rounding gives equal vectors equal scores


class VectorStore(Protocol):
    """Searchable vectors of a corpus. Row numbers are the positions of the vectors when the store was built."""

    @property
    def matrix(self) -> Vectors | None:
        """The vectors, shape (rows, dimensions); None if they are not in memory."""

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

    @property
    def matrix(self) -> Vectors | None:
        """The vectors, shape (rows, dimensions); None if they are not in memory."""

    def cosines(self, query: Vectors) -> Vectors:
        """Return the cosine of a query of shape (dimensions,) with every row, shape (rows,)."""

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Return exact cosines, shape (len(rows),), of a query of shape (dimensions,) with the vectors of ``rows``."""


class ExactVectors:
    """A ``VectorStore`` and ``RowCosines`` in memory.

    Args:
        matrix: vectors of a corpus, shape (rows, dimensions), rows of unit length.
    """

    def __init__(self, matrix: Vectors) -> None:
        self.matrix: Vectors = matrix

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        cosine: Vectors = np.round(self.matrix[rows] @ query, _DECIMALS)
        return cosine

    def cosines(self, query: Vectors) -> Vectors:
        scores: Vectors = np.round(self.matrix @ query, _DECIMALS)
        return scores

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(queries), _BLOCK):
            scores = np.round(self._products(queries[begin : begin + _BLOCK]), _DECIMALS)
            for line in scores:
                best = best_rows(line, limit)
                found.append(list(zip(best.tolist(), line[best].tolist(), strict=True)))
        return found

    def _products(self, queries: Vectors) -> Vectors:
        """Return the product of each query with each row, on all cores if there are many: the app allows BLAS one."""
        threads = usable_cores() if len(queries) >= _MANY else None  # None: as many as now
        with threadpool_limits(threads, "blas") if threads else nullcontext():
            products: Vectors = queries @ self.matrix.T
        return products


def vectors_key(model_id: str, matrix: Vectors) -> str:
    """Return 24 hex digits that identify vectors: equal ones, of the same embedding model, have the same key."""
    return hashlib.sha256(f"{model_id} {matrix.shape} ".encode() + matrix.tobytes()).hexdigest()[:24]
