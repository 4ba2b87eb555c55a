"""Rank the chunks of a knowledge base by the scores of their paragraphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles


class ChunkParagraphs:
    """Which paragraphs each chunk contains.

    Args:
        positions: for each paragraph, the positions of the chunks that contain it.
        chunk_ids: the id of each chunk; ties break by it.
    """

    def __init__(self, positions: Sequence[Sequence[int]], chunk_ids: Sequence[str]) -> None:
        pairs = sorted((position, row) for row, found in enumerate(positions) for position in found)
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._position, self._row = both[:, 0].copy(), both[:, 1].copy()
        self._start = np.searchsorted(self._position, np.arange(len(chunk_ids) + 1))
        self._chunks = np.flatnonzero(np.diff(self._start))
        """Positions of the chunks that contain a paragraph."""
        self._id_rank = np.empty(len(chunk_ids), np.int64)
        self._id_rank[sorted(range(len(chunk_ids)), key=chunk_ids.__getitem__)] = np.arange(len(chunk_ids))

    def of(self, position: int) -> Array:
        """Return the rows of the paragraphs of the chunk at ``position``, in rising order."""
        return self._row[self._start[position] : self._start[position + 1]]

    def ranked(self, scores: Doubles, others_weight: float) -> tuple[Array, Array]:
        """Rank the chunks whose best paragraph has a positive score.

        Args:
            scores: score of each paragraph.
            others_weight: weight of the sum of all of a chunk's paragraphs, which decides between nearly equal chunks.

        Returns:
            (positions of the chunks, best first; row of the best paragraph of each, the first of equal ones).
        """
        if not len(self._row):
            return self._row, self._row
        found, begin = scores[self._row], self._start[self._chunks]
        best = np.maximum.reduceat(found, begin)
        is_best = found == np.repeat(best, np.diff(np.append(begin, len(found))))
        row = np.minimum.reduceat(np.where(is_best, self._row, len(scores)), begin)
        # In the order of the rows, in which the sums have always been made: the last digits depend on it.
        by_row = np.argsort(self._row, kind="stable")
        sums = np.bincount(self._position[by_row], found[by_row], len(self._id_rank))[self._chunks]
        order = np.lexsort((self._id_rank[self._chunks], -best - others_weight * sums))
        order = order[best[order] > 0]
        return self._chunks[order], row[order]
