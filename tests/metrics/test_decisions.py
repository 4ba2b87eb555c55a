"""Decision metrics: what strict mode answers, refuses and shows, on either side of the threshold."""

from __future__ import annotations

import pytest

from chatbot_mvp.metrics.decisions import NEAREST, Decision, accepted, refused, useful


@pytest.mark.parametrize(("evidence", "answers"), [(0.49, 0.0), (0.5, 1.0), (0.51, 1.0)])
def test_evidence_at_the_threshold_answers(evidence: float, answers: float) -> None:
    assert accepted(Decision("answerable", evidence, 0.5)) == answers
    assert refused(Decision("near", evidence, 0.5)) == refused(Decision("far", evidence, 0.5)) == 1.0 - answers


@pytest.mark.parametrize("kind", ["near", "far", ""])
def test_only_answerable_questions_can_be_accepted(kind: str) -> None:
    assert accepted(Decision(kind, 0.9, 0.5)) is None


@pytest.mark.parametrize("kind", ["answerable", ""])
def test_only_questions_without_an_answer_can_be_refused(kind: str) -> None:
    assert refused(Decision(kind, 0.1, 0.5)) is None


@pytest.mark.parametrize(
    ("evidence", "rank", "on_topic", "expected"),
    [
        (0.5, 20, True, 1.0),  # answered from the whole context
        (0.5, 20, False, 1.0),  # sufficient evidence wins over the topic
        (0.5, None, True, 0.0),  # answered from other passages
        (0.4, NEAREST, True, 1.0),  # shown as one of the nearest
        (0.4, NEAREST + 1, True, 0.0),
        (0.4, 1, False, 0.0),  # refused: nothing is shown
        (0.4, None, True, 0.0),
    ],
)
def test_useful_is_whether_the_passage_that_answers_is_shown(
    evidence: float, rank: int | None, on_topic: bool, expected: float
) -> None:
    case = Decision("answerable", evidence, 0.5, on_topic, expects_passage=True, rank=rank)
    assert useful(case) == expected


def test_useful_is_not_scored_where_no_passage_is_expected() -> None:
    assert useful(Decision("answerable", 0.9, 0.5, rank=1)) is None
