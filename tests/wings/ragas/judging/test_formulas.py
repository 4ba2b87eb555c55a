"""The scores of Ragas from verdicts: the examples of its definitions, and what has no score."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from chatbot_mvp.wings.ragas.judging.formulas import (
    context_precision,
    context_recall,
    context_relevance,
    faithfulness,
    id_based_context_precision,
    id_based_context_recall,
    irrelevant_at_sight,
    response_relevancy,
)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([0, 1, 1], (1 / 2 + 2 / 3) / 2),
        ([1, 1, 0], 1.0),
        ([0, 0, 1], 1 / 3),
        ([1, 0, 1, 0], (1 + 2 / 3) / 2),
        ([0, 0], 0.0),
        ([1], 1.0),
        ([], None),
    ],
)
def test_context_precision_is_the_mean_of_precision_at_the_useful_ranks(
    verdicts: Sequence[int], expected: float | None
) -> None:
    assert context_precision(verdicts) == (None if expected is None else pytest.approx(expected))


def test_the_worked_example_of_context_precision() -> None:
    assert round(context_precision([0, 1, 1]) or 0, 3) == 0.583


@pytest.mark.parametrize("metric", [context_recall, faithfulness])
@pytest.mark.parametrize(("verdicts", "expected"), [([1, 1, 0, 1], 0.75), ([1, 0], 0.5), ([0], 0.0), ([], None)])
def test_a_share_of_statements(
    metric: Callable[[Sequence[int]], float | None], verdicts: Sequence[int], expected: float | None
) -> None:
    """3 of 4 statements of a reference; of "Einstein was born in Germany on 20 March 1879" only the place."""
    assert metric(verdicts) == expected


@pytest.mark.parametrize(
    ("generated", "noncommittal", "expected"),
    [
        ([[1, 0], [0, 1]], [0, 0], 0.5),
        ([[2, 0], [0.6, 0.8]], [0, 1], 0.8),
        ([[1, 0]], [1], 0.0),
        ([[1, 0], [1, 0]], [1, 1], 0.0),
        ([[-1, 0]], [0], -1.0),
        ([[0, 0]], [0], None),
        ([], [], None),
    ],
)
def test_relevancy_is_the_mean_cosine_unless_all_evade(
    generated: list[list[float]], noncommittal: list[int], expected: float | None
) -> None:
    found = response_relevancy(np.array([3.0, 0.0]), np.array(generated).reshape(-1, 2), noncommittal)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(2, 2, 1.0), (2, 1, 0.75), (0, 0, 0.0), (0, 2, 0.5), (None, 1, 0.5), (2, None, 1.0), (None, None, None)],
)
def test_relevance_is_the_mean_of_the_ratings_there_are(
    first: int | None, second: int | None, expected: float | None
) -> None:
    assert context_relevance(first, second) == expected


@pytest.mark.parametrize(
    ("question", "contexts", "expected"),
    [
        ("¿Dónde?", ["En Ulm."], False),
        (" ", ["En Ulm."], True),
        ("¿Dónde?", [], True),
        ("¿Dónde?", ["", " \n"], True),
        ("¿Dónde?", [" ¿Dónde? "], True),
        ("¿Dónde nació?", ["nació"], True),
    ],
)
def test_what_cannot_be_relevant_is_not_asked_about(question: str, contexts: list[str], expected: bool) -> None:
    assert irrelevant_at_sight(question, contexts) is expected


@pytest.mark.parametrize(
    ("retrieved", "reference", "precision", "recall"),
    [
        (["a", "b", "c", "d"], ["a", "c", "e"], 2 / 4, 2 / 3),
        ([1, "2", 2], ["1", 2], 1.0, 1.0),
        ([], ["a"], None, 0.0),
        (["a"], [], 0.0, None),
    ],
)
def test_precision_and_recall_by_ids(
    retrieved: list[str | int], reference: list[str | int], precision: float | None, recall: float | None
) -> None:
    assert id_based_context_precision(retrieved, reference) == precision
    assert id_based_context_recall(retrieved, reference) == recall
