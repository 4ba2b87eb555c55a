"""BM25 weights as Tantivy computes them, for engines that only multiply sparse vectors.

The score of a document is the inner product of the question's vector and the document's: sum over the terms of
``term_weight`` x ``DocumentWeights.of``. All numbers are 32-bit floats, as in Tantivy, so that rankings are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = np.float32(1.2), np.float32(0.75)
"""The constants of Robertson & Zaragoza (2009) with Tantivy's values."""

_SAME = 1.2e-7
"""Relative difference up to which two scores count as equal, because engines add the terms in different orders: 2**-23,
the distance of 32-bit floats."""


def _lengths() -> NDArray[np.int64]:
    """Return the 256 lengths that Tantivy distinguishes: it stores the length of a document in one byte."""
    lengths = list(range(41))
    step = 2
    while len(lengths) < 256:
        lengths += [lengths[-1] + step * times for times in range(1, 9)]
        step *= 2
    return np.array(lengths[:256], dtype=np.int64)


_LENGTHS = _lengths()


class DocumentWeights:
    """Computes the weights of the terms of a document.

    Args:
        average: mean number of terms per document of the corpus.
    """

    def __init__(self, average: float) -> None:
        relative = _LENGTHS.astype(np.float32) / np.float32(average)
        self._norms = K1 * (np.float32(1) - B + B * relative)

    def of(self, term_ids: Sequence[int]) -> dict[int, float]:
        """Return term id -> f / (f + k1 (1 - b + b length / average)), f being the frequency of the term."""
        norm = self._norms[np.searchsorted(_LENGTHS, len(term_ids), side="right") - 1]
        return {term: float(np.float32(f) / (np.float32(f) + norm)) for term, f in Counter(term_ids).items()}

    def of_postings(self, frequencies: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the same weights for postings, shape (postings,), of frequencies and document lengths in terms."""
        norms = self._norms[np.searchsorted(_LENGTHS, lengths, side="right") - 1]
        counted = frequencies.astype(np.float32)
        return (counted / (counted + norms)).astype(np.float32)


def term_weight(containing: int, documents: int) -> float:
    """Return (k1 + 1) ln(1 + (N - n + 0.5) / (n + 0.5)), the weight of a term of a question.

    Args:
        containing: number n of documents with the term.
        documents: number N of documents.
    """
    n = np.float32(containing) + np.float32(0.5)
    idf = np.log(np.float32(1) + (np.float32(documents - containing) + np.float32(0.5)) / n)
    return float(idf * (np.float32(1) + K1))


def in_order(found: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best ``limit`` pairs (row, score). Scores that differ by rounding only are ties, ordered by row."""
    groups: list[list[tuple[int, float]]] = []
    for hit in sorted(found, key=lambda hit: -hit[1]):
        if groups and groups[-1][-1][1] - hit[1] <= _SAME * groups[-1][-1][1]:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in sorted(group)][:limit]
