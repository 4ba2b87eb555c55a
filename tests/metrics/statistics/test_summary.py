"""Aggregates: both readings, how many were scored, intervals, splits."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.metrics.statistics.noninferiority import paired_interval
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.metrics.statistics.summary import Scores, split, summarise


def test_a_failure_is_left_out_in_one_reading_and_the_worst_in_the_other() -> None:
    """Recall: (1 + 0.5) / 2 left out, (1 + 0.5 + 0) / 3 counted in; its complement counts a failure as 1."""
    rows = [
        Scores({"recall@5": 1.0, "complement_recall@5": 0.0}),
        Scores({"recall@5": 0.5, "complement_recall@5": 0.5}),
        Scores({"recall@5": None, "complement_recall@5": None}, failed=True),
        # No gold documents: nothing failed, and there is nothing to score.
        Scores({"recall@5": None, "complement_recall@5": None}),
    ]
    found = summarise(rows, ["recall@5", "complement_recall@5"])
    recall, complement = found["recall@5"], found["complement_recall@5"]
    assert (recall.mean, recall.mean_with_failures) == (0.75, 0.5)
    assert (complement.mean, complement.mean_with_failures) == (0.25, 0.5)
    assert (recall.scored, recall.total) == (2, 4)
    assert recall.interval is not None and 0.5 < recall.interval[0] < 0.75 < recall.interval[1] < 1.0


@pytest.mark.parametrize("right", [0, 3, 5])
def test_the_interval_of_a_share_is_the_one_that_pages_show_of_it(right: int) -> None:
    """5 of 5 is 57 to 100 %, never 100 to 100."""
    found = summarise([Scores({"hit@1": float(row < right)}) for row in range(5)], ["hit@1"])["hit@1"]
    assert found.interval == pytest.approx(Share(right, 5).interval, abs=1e-6)


def test_a_query_that_a_metric_does_not_apply_to_is_none_of_its_total() -> None:
    rows = [Scores({"f1": 1.0, "accuracy": 1.0}), Scores({"f1": 0.5}), Scores({"f1": 0.25})]
    found = summarise(rows, ["f1", "accuracy"])
    assert (found["f1"].scored, found["f1"].total) == (3, 3)
    assert (found["accuracy"].scored, found["accuracy"].total, found["accuracy"].interval) == (1, 1, None)


def test_a_failure_counts_as_0_in_a_metric_that_this_version_does_not_know() -> None:
    found = summarise([Scores({"of_old": 1.0}), Scores({"of_old": None}, failed=True)], ["of_old"])["of_old"]
    assert (found.mean, found.mean_with_failures) == (1.0, 0.5)
    assert (found.scored, found.total, found.interval) == (1, 2, None)


@pytest.mark.parametrize(
    ("scores", "mean", "scored"),
    [
        ([1.0, 0.5, 0.0], 0.5, 3),
        # None is left out of the mean, not counted as 0: (1.0 + 0.5) / 2
        ([1.0, None, 0.5, None], 0.75, 2),
        ([0.0, None], 0.0, 1),
        ([None, None], None, 0),
        ([], None, 0),
    ],
)
def test_the_mean_is_over_the_scored_queries_and_nothing_scored_is_no_figure(
    scores: list[float | None], mean: float | None, scored: int
) -> None:
    found = summarise([Scores({"mrr": score}) for score in scores], ["mrr"])["mrr"]
    assert (found.mean, found.mean_with_failures, found.scored, found.total) == (mean, mean, scored, len(scores))
    assert (found.interval is None) == (scored < 2)


def test_splits_hold_the_values_that_occur_and_their_own_means() -> None:
    rows = [
        Scores({"mrr": 1.0}, groups={"question_type": "bridge", "level": ""}),
        Scores({"mrr": 0.0}, groups={"question_type": "bridge", "level": ""}),
        Scores({"mrr": 0.25}, groups={"question_type": "comparison", "level": ""}),
        Scores({"mrr": 0.125}),
    ]
    found = split(rows, ["mrr"])
    assert list(found) == ["question_type"]
    means = {value: group["mrr"].mean for value, group in found["question_type"].items()}
    assert means == {"bridge": 0.5, "comparison": 0.25}


@pytest.mark.parametrize("count", [400, 1_500])
def test_the_interval_of_a_difference_has_the_width_that_its_spread_asks_for(count: int) -> None:
    """400 values of standard deviation 1: about 1.96 / 20 to either side."""
    values = np.random.default_rng(1).normal(0.5, 1.0, size=count)
    low, high = paired_interval(values)
    assert low < values.mean() < high
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / count**0.5, rel=0.06)


def test_an_interval_of_a_difference_covers_the_truth_as_often_as_it_says() -> None:
    """200 samples of 100 pairs each, of which one in three gains and one in seven loses."""
    rng = np.random.default_rng(3)
    samples = rng.choice([1.0, -1.0, 0.0], (200, 100), p=[1 / 3, 1 / 7, 11 / 21])
    found = [paired_interval(values) for values in samples]
    assert 0.90 <= np.mean([low <= 1 / 3 - 1 / 7 <= high for low, high in found]) <= 0.99


@pytest.mark.parametrize("pairs", [2, 5, 9])
def test_few_pairs_that_all_change_alike_have_an_interval_that_says_so(pairs: int) -> None:
    """As 5 of 5 is 57 to 100 %: never a difference of exactly so much, nor of exactly nothing."""
    low, high = paired_interval(np.ones(pairs))
    assert low < 0.95 and high <= 1.0
    low, high = paired_interval(np.zeros(pairs))
    assert low < -0.1 and high > 0.1
