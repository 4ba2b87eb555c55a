"""All ranking metrics against ir_measures, those of the context by hand."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG

from chatbot_mvp.metrics.ranking.generation_context import (
    generation_hit,
    generation_recall,
    reranker_rescue_count,
    rescued,
)
from chatbot_mvp.metrics.registry import metrics_of

RANKING_METRICS = metrics_of("ranking")

QRELS = {"b": 1, "d": 1, "x": 1, "c": 0}
"""Relevant: b, d and x; c is judged as not relevant."""


@pytest.mark.parametrize(
    ("context", "recall", "hit"), [([], 0.0, 0.0), (["a"], 0.0, 0.0), (["d", "a"], 1 / 3, 1.0), (["x", "d", "b"], 1, 1)]
)
def test_the_context_is_a_set(context: list[str], recall: float, hit: float) -> None:
    assert generation_recall(context, QRELS) == pytest.approx(recall)
    assert generation_hit(context, QRELS) == hit
    assert generation_recall(context, {"a": 0}) is None
    assert generation_hit(context, {}) is None


def test_a_rescue_is_a_query_without_any_hit_before_and_with_one_after_reranking() -> None:
    gold = {"g": 1, "h": 1}
    queries = [
        (["a", "b"], ["g"], gold),  # rescued
        (["a", "g"], ["h"], gold),  # something was found before: no rescue
        (["a", "b"], ["a"], gold),  # nothing after either
        (["a"], ["g"], {}),  # nothing to find
    ]
    assert [rescued(*query) for query in queries] == [1.0, 0.0, 0.0, None]
    assert reranker_rescue_count(queries) == 1
    assert reranker_rescue_count([]) == 0


MEASURES = {"ndcg": nDCG, "recall": R, "hit": Success, "precision": P}
OFFICIAL = {
    **{MEASURES[spec.family] @ spec.k: name for name, spec in RANKING_METRICS.items() if spec.family in MEASURES},
    RR: "mrr",
    AP: "map",
}
FROM_RECALL = ("all_gold", "complement_recall")
MEASURED = [n for n, spec in RANKING_METRICS.items() if n in OFFICIAL.values() or spec.family in FROM_RECALL]

documents = st.integers(0, 30).map("d{}".format)
cases = st.lists(
    st.tuples(
        st.lists(documents, min_size=1, max_size=25, unique=True),
        st.dictionaries(documents, st.integers(0, 3), min_size=1).filter(lambda qrels: max(qrels.values()) > 0),
    ),
    min_size=1,
    max_size=4,
)


@given(cases)
def test_every_metric_that_ir_measures_has_agrees_to_1e9(case: list[tuple[list[str], dict[str, int]]]) -> None:
    """Whatever the rankings and grades; all-gold and the complement follow from ir_measures' recall."""
    rankings = {f"q{n}": ranking for n, (ranking, _) in enumerate(case)}
    qrels = {f"q{n}": judged for n, (_, judged) in enumerate(case)}
    run = {
        query: {doc_id: 1_000.0 - rank for rank, doc_id in enumerate(ranking)} for query, ranking in rankings.items()
    }
    compared = 0
    for measured in ir_measures.iter_calc(list(OFFICIAL), qrels, run):
        query, name = measured.query_id, OFFICIAL[measured.measure]
        expected = {name: measured.value}
        if name.startswith("recall@") and name != "recall@2":
            expected[f"all_gold@{name[7:]}"] = float(measured.value > 1 - 1e-12)
            expected[f"complement_recall@{name[7:]}"] = 1 - measured.value
        for ours_name, value in expected.items():
            ours = RANKING_METRICS[ours_name].score(rankings[query], qrels[query])
            assert ours is not None
            assert math.isclose(ours, value, abs_tol=1e-9), (ours_name, ours, value)
            compared += 1
    assert compared == len(case) * len(MEASURED)
