"""The way of questions: where the first of their relevant documents was lost, and what was answered then."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.runs.causes import Fate, GoldPath, flow_of
from tests.made_results import made_row


def paths(*fates: Fate) -> list[GoldPath]:
    return [GoldPath(f"d{place}", {}, fate) for place, fate in enumerate(fates)]


@pytest.mark.parametrize(
    ("fates", "passed"),
    [
        ((Fate.IN_CONTEXT, Fate.IN_CONTEXT), 3),
        ((Fate.IN_CONTEXT, Fate.LEFT_OUT), 2),
        ((Fate.IN_CONTEXT, Fate.BELOW_CUT), 1),
        ((Fate.LOST_IN_RERANKING,), 1),
        ((Fate.LOST_IN_FUSION,), 1),  # a retriever had found it
        ((Fate.BELOW_CUT, Fate.NOT_FOUND), 0),
    ],
)
def test_a_question_comes_as_far_as_the_first_document_that_it_loses(fates: tuple[Fate, ...], passed: int) -> None:
    assert flow_of([(made_row(), paths(*fates))], answered=False).ways == {(passed, ""): 1}


@pytest.mark.parametrize(
    ("fields", "answered", "outcome"),
    [
        ({"response": "Sí", "cause": "ok"}, True, "right"),
        ({"response": "Sí", "cause": "not_retrieved"}, True, "wrong"),
        ({"response": "No lo sé", "abstained": True, "cause": "unknown_wrongly"}, True, "declined"),
        ({"response": "Sí", "cause": "judge_failed"}, True, "unknown"),
        ({"response": None, "cause": "not_scored"}, True, "unknown"),
        ({"metrics": {"accepted": 1.0}}, False, "answered"),
        ({"metrics": {"accepted": 0.0}}, False, "declined"),
        ({}, False, ""),
    ],
)
def test_the_outcome_is_the_answer_or_what_strict_mode_decides(
    fields: dict[str, Any], answered: bool, outcome: str
) -> None:
    [found] = flow_of([(made_row(**fields), paths(Fate.IN_CONTEXT))], answered).ways
    assert found == (3, outcome)


def test_questions_without_a_relevant_document_are_counted_apart() -> None:
    rows = [
        (made_row(), []),
        (made_row(failed=True, retrieved=[]), paths(Fate.NOT_FOUND)),
        (made_row(), paths(Fate.IN_CONTEXT)),
    ]
    found = flow_of(rows, answered=False)
    assert (found.total, found.left_out) == (1, 2)
