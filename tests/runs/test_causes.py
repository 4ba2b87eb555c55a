"""The cause of a failure: one case per place where a question can be lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbot_mvp.runs.causes import Cause, QueryOutcome, cause_of, fate_of, gold_paths, outcome_of_row
from chatbot_mvp.runs.payloads import GoldRanks, Retrieved
from tests.made_results import made_row

FOUND = QueryOutcome(frozenset("gh"), ("g", "h", "a", "b", "c"), cut=2)
"""Both gold documents in the context of two, no answer."""
ANSWERED = replace(FOUND, answered=True)


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (FOUND, "ok"),
        (replace(FOUND, candidates=("g", "a", "b")), "not_retrieved"),
        (replace(FOUND, candidates=()), "not_retrieved"),
        (replace(FOUND, candidates=("g", "a", "h")), "below_cut"),
        # The earliest place counts: one gold document is too low, the other was never found.
        (replace(FOUND, gold=frozenset("ghx"), candidates=("g", "a", "h")), "not_retrieved"),
        # A reranker lifts what was too low, does not lift it, or loses what stood high enough.
        (replace(FOUND, candidates=("a", "b", "g", "h"), context=("g", "h"), reranked=True), "ok"),
        (replace(FOUND, candidates=("g", "a", "h"), context=("g", "a"), reranked=True), "below_cut"),
        (replace(FOUND, context=("g", "a"), reranked=True), "lost_in_reranking"),
        # A context can also be short of characters; there was no reranker to blame.
        (replace(FOUND, context=("g",)), "below_cut"),
        (replace(FOUND, gold=frozenset()), "not_scored"),
        (replace(FOUND, failed=True), "not_scored"),
        # With answers.
        (replace(ANSWERED, right=True), "ok"),
        (replace(ANSWERED, right=True, candidates=()), "ok"),
        (replace(ANSWERED, right=False), "answered_wrong"),
        (replace(ANSWERED, right=False, abstained=True), "unknown_wrongly"),
        (replace(ANSWERED, right=False, abstained=True, candidates=("g", "a")), "not_retrieved"),
        (replace(ANSWERED, right=False, context=("g",), reranked=True), "lost_in_reranking"),
        (replace(ANSWERED, judge_failed=True), "judge_failed"),
        (replace(ANSWERED, judge_failed=True, right=False), "answered_wrong"),
        (replace(ANSWERED, judge_failed=True, abstained=True), "unknown_wrongly"),
        (ANSWERED, "not_scored"),
        (replace(ANSWERED, gold=frozenset(), right=False), "not_scored"),
        (replace(ANSWERED, failed=True, right=True), "not_scored"),
        # In a KB run strict mode decides whether to answer.
        (replace(FOUND, accepted=1.0), "ok"),
        (replace(FOUND, accepted=0.0), "refused_wrongly"),
        (replace(FOUND, accepted=0.0, candidates=("g",)), "not_retrieved"),
        (replace(FOUND, accepted=0.0, gold=frozenset()), "refused_wrongly"),
        (replace(FOUND, accepted=1.0, gold=frozenset()), "not_scored"),
        (replace(FOUND, refused=1.0, gold=frozenset()), "ok"),
        (replace(FOUND, refused=0.0, gold=frozenset()), "accepted_wrongly"),
    ],
)
def test_cause(outcome: QueryOutcome, cause: str) -> None:
    assert cause_of(outcome) == Cause(cause)


ROW: dict[str, Any] = {"gold": ["g"], "retrieved": ["a", "g"], "answer": "el puente", "answer_type": "extractive"}


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, "ok"),
        ({"retrieved": ["a", "b", "g"]}, "below_cut"),
        # What a reranker got may reach deeper than what is scored.
        ({"retrieved": ["a"], "candidates": ["a", "b", "g"], "generation_doc_ids": ["a"]}, "below_cut"),
        ({"generation_doc_ids": ["a"], "reranked": True}, "lost_in_reranking"),
        ({"response": "Fue el puente."}, "ok"),
        ({"response": "Fue la torre."}, "answered_wrong"),
        ({"response": "No lo sé.", "abstained": True}, "unknown_wrongly"),
        ({"response": None}, "ok"),
        ({"response": "¿?", "answer": "", "judge_failed": True}, "judge_failed"),
        ({"failed": True}, "not_scored"),
    ],
)
def test_a_row_of_a_result_is_read_with_the_fields_that_it_has(fields: dict[str, Any], cause: str) -> None:
    given = {**ROW, **fields}
    candidates = given.pop("candidates", [])
    assert cause_of(outcome_of_row(made_row(**given), 2, "es", candidates)) == Cause(cause)


# --- of one document


@pytest.mark.parametrize(
    ("ranks", "reranker", "fate"),
    [
        ({"bm25": 3, "ranking": 1, "context": 1}, False, "in_context"),
        ({"bm25": None, "vector": None, "ranking": None, "context": None}, False, "not_found"),
        ({"bm25": None, "vector": 9, "ranking": None, "context": None}, False, "lost_in_fusion"),
        ({"bm25": 1, "ranking": 6, "context": None}, False, "below_cut"),
        # High enough, and yet not there: the context had no room, or the score was under the least.
        ({"bm25": 1, "ranking": 5, "context": None}, False, "left_out"),
        ({"ranking": 9, "rerank": None, "context": None}, True, "below_cut"),
        ({"ranking": 2, "rerank": None, "context": None}, True, "lost_in_reranking"),
        ({"ranking": 9, "rerank": 2, "context": None}, True, "left_out"),
        # The last place of the context counts as high enough, before a reranker and after it.
        ({"ranking": 5, "rerank": 6, "context": None}, True, "lost_in_reranking"),
        ({"ranking": 6, "rerank": 5, "context": None}, True, "left_out"),
        ({"ranking": 9, "rerank": 2, "context": 2}, True, "in_context"),
    ],
)
def test_where_one_document_was_lost(ranks: dict[str, int | None], reranker: bool, fate: str) -> None:
    assert fate_of(ranks, 5, reranker) == fate


def test_a_run_without_ranks_tells_what_its_lists_tell() -> None:
    """Of an import without records: the ranking as deep as it was kept, the reranker's candidates, the context."""
    row = made_row(gold=["g", "h", "x"], retrieved=["a", "g", "b"], generation_doc_ids=["g"])
    found = gold_paths(row, Retrieved(pre_rerank_candidate_ids=("a", "g", "b", "c", "h")), 2, True)
    assert [(path.doc_id, path.ranks["ranking"], path.fate.value) for path in found] == [
        ("g", 2, "in_context"),
        ("h", 5, "below_cut"),
        ("x", None, "not_found"),
    ]
    assert found[0].ranks["context"] == 1, "its place in the context, not in the ranking"
    [plain] = gold_paths(made_row(gold=["b"], retrieved=["a", "b", "c"]), Retrieved(), 2, False)
    assert (dict(plain.ranks), plain.fate.value) == ({"ranking": 2, "context": 2}, "in_context")
    [below] = gold_paths(made_row(gold=["c"], retrieved=["a", "b", "c"]), Retrieved(), 2, False)
    assert (dict(below.ranks), below.fate.value) == ({"ranking": 3, "context": None}, "below_cut")


def test_recorded_ranks_count_more_than_the_lists_and_a_reranker_is_named() -> None:
    """The lists of the row would say that g reached the context."""
    recorded: dict[str, int | None] = {"bm25": 1, "ranking": 1, "rerank": 4, "context": None}
    row = made_row(gold=["g", "h"], retrieved=["g", "h"], generation_doc_ids=["g", "h"])
    retrieved = Retrieved(gold=GoldRanks(ranks={"g": recorded}))
    found = gold_paths(row, retrieved, 2, True)
    assert [(path.doc_id, path.fate.value) for path in found] == [("g", "lost_in_reranking"), ("h", "in_context")]
    assert dict(found[0].ranks) == recorded
