"""The threshold that a knowledge base's own labels choose, against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.evaluation.kb.own_threshold import GENERAL, PROVEN, own_threshold
from chatbot_mvp.metrics.statistics.share import Share

HIGH = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
LOW = [0.2, 0.1, 0.1, 0.0]


def test_fewer_than_ten_labels_or_a_missing_side_choose_nothing() -> None:
    assert own_threshold({"answerable": HIGH, "near": LOW[:3]}, 0.1, 0.5) is None
    assert own_threshold({"answerable": HIGH * 4, "near": LOW[:1]}, 0.1, 0.5) is None
    assert own_threshold({"far": LOW * 4}, 0.1, 0.5) is None


def test_ten_labels_move_the_threshold_by_their_share_of_the_weight() -> None:
    """From 0.21 to 0.30 all six are answered and no other: the middle is 0.25, and ten labels count 10 of 30."""
    found = own_threshold({"answerable": HIGH, "near": LOW}, 0.1, 0.5)
    assert found is not None
    assert found.of_labels == 0.25
    assert found.threshold == pytest.approx((10 * 0.25 + GENERAL * 0.5) / (10 + GENERAL))
    assert (found.labels, found.general) == (10, 0.5)


def test_each_label_is_judged_by_a_threshold_that_it_did_not_choose() -> None:
    """All labels are separable, yet those that the others choose lie near 0.42: above two of the answers."""
    found = own_threshold({"answerable": HIGH, "near": LOW}, 0.1, 0.5)
    assert found is not None
    assert found.answered == Share(4, 6)
    assert found.wrong == {"near": Share(0, 4), "far": Share(0, 0)}
    assert found.answered.interval is not None
    assert found.all_wrong == Share(0, 4)


def test_labels_decided_otherwise_than_at_the_general_threshold_are_counted_on_both_sides() -> None:
    """Ten labels choose 0.42: the same scores lie above it as above 0.5. A hundred move 0.9 to 0.36, which leaves out
    the ten scores of 0.3 alone."""
    same = own_threshold({"answerable": HIGH, "near": LOW}, 0.1, 0.5)
    assert same is not None and (same.better, same.worse, same.p) == (0, 0, 1.0)
    low = own_threshold({"answerable": HIGH * 10, "near": LOW * 10}, 0.1, 0.9)
    assert low is not None
    assert (low.better, low.worse) == (50, 0)
    assert low.p < PROVEN
    few = own_threshold({"answerable": [0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5, 0.42], "near": [0.2, 0.1]}, 0.1, 0.5)
    assert few is not None and few.p >= PROVEN


def test_the_tolerance_holds_for_each_kind_alone() -> None:
    """Many far questions that are refused do not make up for near ones that are answered."""
    scores = {"answerable": HIGH, "near": [0.55, 0.45, 0.1, 0.1], "far": [0.0] * 100}
    found = own_threshold(scores, 0.1, 0.5)
    assert found is not None and found.of_labels > 0.55


def test_many_labels_outweigh_the_general_threshold() -> None:
    rng = np.random.default_rng(0)
    scores = {"answerable": (0.3 + 0.1 * rng.random(300)).tolist(), "near": (0.2 * rng.random(300)).tolist()}
    found = own_threshold(scores, 0.05, 0.5)
    assert found is not None
    assert 0.19 < found.threshold < 0.3
    assert (found.answered.value or 0) > 0.95
    assert (found.wrong["near"].value or 0) <= 0.05
