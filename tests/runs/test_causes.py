"""The cause of a failure: one case per place where a question can be lost."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.runs.causes import Cause, cause_of, fate_of, gold_paths
from chatbot_mvp.runs.payloads import GoldRanks, Retrieved
from tests.made_results import made_row

ROW: dict[str, Any] = {
    "gold": ["g", "h"],
    "retrieved": ["g", "h", "a", "b", "c"],
    "answer": "el puente",
    "answer_type": "extractive",
}
"""Both gold documents in the context of two, no answer."""
RIGHT, WRONG, UNKNOWN = (
    {"response": "Fue el puente."},
    {"response": "No, la torre."},
    {"response": "No", "abstained": True},
)
UNSCORED = {"response": "¿?", "answer": ""}


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, "ok"),
        ({"retrieved": ["g", "a", "b"]}, "not_retrieved"),
        ({"retrieved": []}, "not_retrieved"),
        ({"retrieved": ["g", "a", "h"]}, "below_cut"),
        # The earliest place counts: one gold document is too low, the other was never found.
        ({"gold": ["g", "h", "x"], "retrieved": ["g", "a", "h"]}, "not_retrieved"),
        # A reranker lifts what was too low, does not lift it, or loses what stood high enough.
        ({"retrieved": ["a", "b", "g", "h"], "generation_doc_ids": ["g", "h"], "reranked": True}, "ok"),
        ({"retrieved": ["g", "a", "h"], "generation_doc_ids": ["g", "a"], "reranked": True}, "below_cut"),
        ({"generation_doc_ids": ["g", "a"], "reranked": True}, "lost_in_reranking"),
        # What a reranker got may reach deeper than what is scored.
        ({"retrieved": ["g"], "candidates": ["g", "b", "h"], "generation_doc_ids": ["g"]}, "below_cut"),
        # A context can also be short of characters; there was no reranker to blame.
        ({"generation_doc_ids": ["g"]}, "below_cut"),
        ({"gold": []}, "not_scored"),
        ({"failed": True}, "not_scored"),
        # With answers.
        (RIGHT, "ok"),
        ({**RIGHT, "retrieved": []}, "ok"),
        (WRONG, "answered_wrong"),
        (UNKNOWN, "unknown_wrongly"),
        ({**UNKNOWN, "answer": "no", "answer_type": "label"}, "unknown_wrongly"),
        ({**UNKNOWN, "retrieved": ["g", "a"]}, "not_retrieved"),
        ({**WRONG, "generation_doc_ids": ["g"], "reranked": True}, "lost_in_reranking"),
        ({**UNSCORED, "judge_failed": True}, "judge_failed"),
        ({**WRONG, "judge_failed": True}, "answered_wrong"),
        ({**UNKNOWN, "judge_failed": True}, "unknown_wrongly"),
        (UNSCORED, "not_scored"),
        ({**WRONG, "gold": []}, "not_scored"),
        ({**RIGHT, "failed": True}, "not_scored"),
        # In a KB run strict mode decides whether to answer.
        ({"metrics": {"accepted": 1.0}}, "ok"),
        ({"metrics": {"accepted": 0.0}}, "refused_wrongly"),
        ({"metrics": {"accepted": 1.0, "solved": 0.0}}, "unsolved"),
        ({"metrics": {"accepted": 1.0, "solved": 1.0}}, "ok"),
        # With answers, too, what the chat says counts: people rarely write the answer that they expect.
        ({**UNSCORED, "metrics": {"accepted": 1.0, "solved": 1.0}}, "ok"),
        ({**UNSCORED, "metrics": {"accepted": 1.0, "solved": 0.0}}, "unsolved"),
        ({**RIGHT, "metrics": {"accepted": 1.0, "solved": 0.0}}, "unsolved"),
        ({"metrics": {"accepted": 0.0}, "retrieved": ["g"]}, "not_retrieved"),
        ({"metrics": {"accepted": 0.0}, "gold": []}, "refused_wrongly"),
        ({"metrics": {"accepted": 1.0}, "gold": []}, "not_scored"),
        ({"metrics": {"refused": 1.0}, "gold": []}, "ok"),
        ({"metrics": {"refused": 0.0}, "gold": []}, "accepted_wrongly"),
    ],
)
def test_cause(fields: dict[str, Any], cause: str) -> None:
    given = {**ROW, **fields}
    candidates = given.pop("candidates", [])
    assert cause_of(made_row(**given), 2, "es", candidates) == Cause(cause)


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
