"""Strict mode over its threshold, against figures worked out by hand."""

from __future__ import annotations

import itertools

import pytest

from chatbot_mvp.evaluation.kb.own_threshold import curve, few_of, figures_at
from chatbot_mvp.metrics.statistics.share import Share

SCORES = {"answerable": [0.9, 0.8, 0.6, 0.3], "near": [0.7, 0.2], "far": [0.1, 0.0, 0.05]}


@pytest.mark.parametrize(
    ("threshold", "coverage", "wrong", "near", "far"),
    [
        (0.0, 4, 5, 2, 3),
        (0.05, 4, 4, 2, 2),
        (0.3, 4, 1, 1, 0),
        (0.5, 3, 1, 1, 0),
        (0.7, 2, 1, 1, 0),
        (0.71, 2, 0, 0, 0),
        (1.0, 0, 0, 0, 0),
    ],
)
def test_figures_at_a_threshold(threshold: float, coverage: int, wrong: int, near: int, far: int) -> None:
    """A score equal to the threshold is answered, as strict mode does."""
    at = figures_at(SCORES, threshold)
    assert at.coverage == Share(coverage, 4)
    assert at.wrong_answers == Share(wrong, 5)
    assert at.by_kind == {"near": Share(near, 2), "far": Share(far, 3)}


def test_the_curve_goes_from_everything_answered_to_nothing() -> None:
    points = curve(SCORES)
    assert [points[0].threshold, points[50].threshold, points[-1].threshold] == [0.0, 0.5, 1.0]
    assert (points[0].coverage.value, points[0].wrong_answers.value) == (1.0, 1.0)
    assert (points[-1].coverage.value, points[-1].wrong_answers.value) == (0.0, 0.0)
    assert all(one.coverage.count >= two.coverage.count for one, two in itertools.pairwise(points))


def test_wilson_interval_by_hand() -> None:
    """0 of 10: z²/(n + z²) = 3.8415/13.8415 = 0.2775; 5 of 10: 0.5 ± 1.96·√(0.025 + 0.0096)/1.384 = 0.2366-0.7634."""
    assert Share(0, 10).interval == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert Share(5, 10).interval == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert Share(0, 0).interval is None
    assert Share(0, 0).value is None


def test_fewer_than_twenty_of_a_side_are_told() -> None:
    assert few_of(SCORES) == [("answerable", 4), ("unanswerable", 5)]
    assert few_of({"answerable": [1.0] * 20, "near": [0.0] * 12, "far": [0.0] * 8}) == []
