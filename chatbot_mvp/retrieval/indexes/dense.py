"""Exact nearest neighbours: one matrix product, the same result every time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors

_BLOCK = 256  # queries per product: 256 x 66,576 scores are 68 MB
_DECIMALS = 6  # a product's last bits depend on its blocking; rounding lets true ties be ties


class ExactVectors:
    """The vectors of a corpus, shape (chunks, dimensions), rows of unit length."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        """Cosine of one query vector with the vectors of ``rows``, in their order."""
        cosine: Vectors = np.round(self._matrix[rows] @ query, _DECIMALS)
        return cosine

    def cosines(self, query: Vectors) -> Vectors:
        """Shape (rows,): the cosine of one query to each row."""
        scores: Vectors = np.round(self._matrix @ query, _DECIMALS)
        return scores

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        """For each query (row of ``queries``) the best (row, cosine), ties by row."""
        count = min(limit, len(self._matrix))
        found: list[list[tuple[int, float]]] = []
        for begin in range(0, len(queries), _BLOCK):
            scores = np.round(queries[begin : begin + _BLOCK] @ self._matrix.T, _DECIMALS)
            for line in scores:
                if count == 0:
                    found.append([])
                    continue
                # All that tie with the last place compete for it by row, so partition by value first.
                floor = np.partition(line, len(line) - count)[len(line) - count]
                rows = np.flatnonzero(line >= floor)
                best = rows[np.lexsort((rows, -line[rows]))][:count]
                found.append([(int(row), float(line[row])) for row in best])
        return found
