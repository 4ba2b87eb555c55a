"""Exact nearest neighbours, ties included."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.retrieval.indexes.dense import ExactVectors


def lattice(seed: int, rows: int) -> np.ndarray:
    """Unit vectors of four components of 0.5 or -0.5 among eight: products are exact multiples of 0.25, many tie."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((rows, 8), dtype=np.float32)
    for row in matrix:
        row[rng.choice(8, size=4, replace=False)] = rng.choice([-0.5, 0.5], size=4)
    return matrix


def brute_force(matrix: np.ndarray, query: np.ndarray, limit: int) -> list[tuple[int, float]]:
    scores = [(row, float(np.dot(vector, query))) for row, vector in enumerate(matrix)]
    return sorted(scores, key=lambda item: (-item[1], item[0]))[:limit]


@pytest.mark.parametrize("limit", [1, 2, 7, 199, 200, 500])
@pytest.mark.parametrize("seed", [0, 1])
def test_hits_are_those_of_brute_force_with_ties_by_row(seed: int, limit: int) -> None:
    matrix, queries = lattice(seed, 200), lattice(seed + 100, 10)
    found = ExactVectors(matrix).search(queries, limit)
    assert found == [brute_force(matrix, query, limit) for query in queries]


def test_hits_of_real_valued_vectors_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(500, 32)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    query = matrix[7] + 0.1 * matrix[300]
    [found] = ExactVectors(matrix).search(query[None, :], 20)
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    assert [row for row, _ in found] == list(np.argsort(-exact)[:20])
    np.testing.assert_allclose([score for _, score in found], np.sort(exact)[::-1][:20], atol=2e-6)


def test_more_queries_than_one_block_are_answered_each_for_itself() -> None:
    matrix, queries = lattice(5, 30), lattice(6, 600)
    together = ExactVectors(matrix).search(queries, 4)
    assert together == [ExactVectors(matrix).search(query[None, :], 4)[0] for query in queries]


def test_no_queries_and_no_vectors_give_empty_answers() -> None:
    assert ExactVectors(lattice(0, 5)).search(np.zeros((0, 8), dtype=np.float32), 3) == []
    assert ExactVectors(np.zeros((0, 8), dtype=np.float32)).search(lattice(0, 2), 3) == [[], []]
