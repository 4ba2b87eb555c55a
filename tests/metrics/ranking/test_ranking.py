"""NDCG against hand-derived figures; what all ranking metrics have in common."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatbot_mvp.metrics.ranking.measures import ndcg_at, trec_order
from chatbot_mvp.metrics.registry import METRICS, metrics_of, ranking_metrics

RANKING = ["a", "b", "c", "d", "e"]
QRELS = {"b": 1, "d": 1, "x": 1, "c": 0}
"""Relevant: b at rank 2, d at rank 4, and x, which was not retrieved; c is judged as not relevant."""


@pytest.mark.parametrize(
    ("k", "value"),
    [
        # DCG@1 = 0.
        (1, 0.0),
        # DCG@3 = 1/log2(3) = 0.63093; ideal = 1 + 1/log2(3) + 1/log2(4) = 2.13093.
        (3, 0.6309297536 / 2.1309297536),
        # DCG@5 = 1/log2(3) + 1/log2(5) = 0.63093 + 0.43068 = 1.06161; the ideal has three documents at any k >= 3.
        (5, 1.0616063117 / 2.1309297536),
    ],
)
def test_ndcg_of_binary_judgements(k: int, value: float) -> None:
    assert ndcg_at(k, RANKING, QRELS) == pytest.approx(value, abs=1e-9)


def test_ndcg_takes_the_grade_as_gain() -> None:
    """Ranking (b:1, a:3), ideal (a:3, b:1): (1 + 3/log2(3)) / (3 + 1/log2(3)) = 2.89279 / 3.63093 = 0.79671."""
    assert ndcg_at(10, ["b", "a"], {"a": 3, "b": 1}) == pytest.approx(0.7967075809, abs=1e-9)


def test_ndcg_of_the_ideal_order_is_one_even_if_there_are_more_relevant_documents_than_places() -> None:
    """DCG@2 = ideal DCG@2 = 1 + 1/log2(3), whatever comes behind."""
    assert ndcg_at(2, ["a", "b"], {"a": 1, "b": 1, "c": 1}) == 1.0


@pytest.mark.parametrize("name", metrics_of("ranking"))
def test_a_query_that_found_nothing_scores_the_worst(name: str) -> None:
    """0, and 1 for the complement of recall."""
    assert METRICS[name].score([], QRELS) == METRICS[name].worst


GRADES = st.dictionaries(st.sampled_from("d0 d3 d7 z".split()), st.integers(-1, 2))


@pytest.mark.parametrize("name", metrics_of("ranking"))
@given(st.permutations([f"d{n}" for n in range(8)]), GRADES)
@example(RANKING, {})
@example(RANKING, {"a": -1, "b": 0})
def test_a_score_is_none_exactly_without_relevant_documents_and_else_in_0_1(
    name: str, ranking: list[str], qrels: dict[str, int]
) -> None:
    score = METRICS[name].score(ranking, qrels)
    assert (score is None) == (max(qrels.values(), default=0) < 1)
    assert score is None or 0.0 <= score <= 1.0 + 1e-12


def test_no_metric_is_offered_beyond_the_depth_of_the_ranking() -> None:
    assert list(ranking_metrics(3)) == [
        "hit@1",
        "hit@3",
        "recall@1",
        "recall@2",
        "recall@3",
        "mrr",
        "ndcg@1",
        "ndcg@3",
        "precision@1",
        "precision@3",
        "map",
        "all_gold@1",
        "all_gold@3",
        "complement_recall@1",
        "complement_recall@3",
    ]
    assert list(ranking_metrics(20)) == list(metrics_of("ranking"))


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ({"a": 1.0, "b": 3.0, "c": 2.0}, "bca"),
        ({"a": -1.0, "b": -3.0, "c": 0.0}, "cab"),
        # Ties go by descending id, whatever the order of the file.
        ({"b": 1.0, "c": 1.0, "a": 1.0}, "cba"),
        # trec_eval keeps scores in single precision, in which these are equal.
        ({"a": 0.1 + 1e-12, "b": 0.1}, "ba"),
        ({}, ""),
    ],
)
def test_documents_go_by_score_and_ties_by_descending_id(scores: dict[str, float], order: str) -> None:
    found = trec_order(scores)
    assert "".join(found) == order
    assert found == scores, "the scores stay as they were"
