"""The order of scored documents, as trec_eval has it."""

from __future__ import annotations

import pytest

from chatbot_mvp.metrics.ranking.ties import trec_order


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
