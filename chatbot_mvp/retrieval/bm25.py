"""BM25 (Robertson & Zaragoza 2009): the weights of terms, for all indexes of words but Tantivy's.

``bm25`` is the formula. ``DocumentWeights`` and ``term_weight`` are what Tantivy makes of it, for engines that rank as
Tantivy does: the score of a document is the sum over the terms of ``term_weight`` x ``DocumentWeights.of``, in 32-bit
floats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints

K1, B = 1.2, 0.75
_K1, _B = np.float32(K1), np.float32(B)
_SAME = 1.2e-7
"""Relative difference up to which two scores count as equal, because engines add the terms in different orders: 2**-23,
the distance of 32-bit floats."""


def idf(documents: int, containing: int) -> float:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)), for n of N documents with a term. The maximum is at n = 0."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def idfs(documents: int, containing: Array) -> Doubles:
    """Return ``idf`` of terms, given the number of documents with each."""
    of_terms: Doubles = np.log(1 + (documents - containing + 0.5) / (containing + 0.5))
    return of_terms


def length_norm(lengths: Array, mean: float, k1: float = K1) -> Doubles:
    """Return k1 x (1 - b + b x length / mean length), the part of the formula that depends on a text's length."""
    norm: Doubles = k1 * (1 - B + B * lengths / mean)
    return norm


def bm25(weight: Array | float, counts: Array, norm: Doubles, k1: float = K1) -> Doubles:
    """Return weight x f x (k1 + 1) / (f + norm), the score of terms in texts.

    Args:
        weight: idf of the terms.
        counts: how often the term occurs in the text, f.
        norm: ``length_norm`` of the text for the same ``k1``.
    """
    scores: Doubles = weight * counts * (k1 + 1) / (counts + norm)
    return scores


def _lengths() -> Ints:
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
        self._norms = _K1 * (np.float32(1) - _B + _B * relative)

    def of(self, term_ids: Sequence[int]) -> dict[int, float]:
        """Return term id -> f / (f + k1 (1 - b + b length / average)), f being the frequency of the term."""
        norm = self._norms[np.searchsorted(_LENGTHS, len(term_ids), side="right") - 1]
        return {term: float(np.float32(f) / (np.float32(f) + norm)) for term, f in Counter(term_ids).items()}

    def of_postings(self, frequencies: Array, lengths: Ints) -> Floats:
        """Return the same weights for postings, shape (postings,), of frequencies and document lengths in terms."""
        norms = self._norms[np.searchsorted(_LENGTHS, lengths, side="right") - 1]
        counted = frequencies.astype(np.float32)
        return (counted / (counted + norms)).astype(np.float32)


def term_weight(containing: int, documents: int) -> float:
    """Return (k1 + 1) x ``idf``, the weight of a term of a question, for n of N documents with the term."""
    return float(term_weights(np.array([containing]), documents)[0])


def term_weights(containing: Array, documents: int) -> Floats:
    """Return ``term_weight`` of several terms, given the number of documents with each."""
    n = containing.astype(np.float32) + np.float32(0.5)
    of_terms = np.log(np.float32(1) + ((documents - containing).astype(np.float32) + np.float32(0.5)) / n)
    return (of_terms * (np.float32(1) + _K1)).astype(np.float32)


def in_order(found: Iterable[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the best ``limit`` pairs (row, score). Scores that differ by rounding only are ties, ordered by row."""
    groups: list[list[tuple[int, float]]] = []
    for hit in sorted(found, key=lambda hit: -hit[1]):
        if groups and groups[-1][-1][1] - hit[1] <= _SAME * groups[-1][-1][1]:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in sorted(group)][:limit]
