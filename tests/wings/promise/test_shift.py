"""The watch over live questions alarms soon after a change, seldom without one, and whatever the scores are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from chatbot_mvp.wings.promise.live_watch import distance
from chatbot_mvp.wings.promise.shift import LIMIT, Shift, capitals, find_shift, p_values

LABELLED = 300
SEEDS = 40


def alarm(before: int, mean: float, seed: int, spread: float = 1.0) -> Shift | None:
    """The alarm where ``before`` questions are like the labelled ones and 400 have another mean and spread."""
    rng = np.random.default_rng(seed)
    labelled, live, other = rng.normal(size=LABELLED), rng.normal(size=before), rng.normal(mean, spread, 400)
    return find_shift([*live.tolist(), *other.tolist()], labelled.tolist(), "a")


def test_without_a_change_the_p_values_are_uniform_and_independent_whatever_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.choice([0.0, 0.5, 0.5, 0.9], 2_000)  # many ties
    values = np.array(list(p_values(scores[100:].tolist(), scores[:100].tolist(), "a")))
    assert stats.kstest(values, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 3 / math.sqrt(values.size)


def test_the_capitals_are_those_of_the_definition_one_question_at_a_time() -> None:
    values = np.random.default_rng(3).beta(2, 3, 700)
    memories = (30.0, 100.0, 300.0)
    held, began = [1.0] * 3, [0] * 3
    counts = [[0.0] * 10 for _ in memories]
    found, starts = capitals(values)
    for number, value in enumerate(values):
        fell = int(value * 10)
        for row, memory in enumerate(memories):
            if held[row] <= 1:
                held[row], began[row] = 1.0, number
            held[row] *= 10 * (counts[row][fell] + 2) / (sum(counts[row]) + 20)
            counts[row] = [each * (1 - 1 / memory) for each in counts[row]]
            counts[row][fell] += 1
        assert found[number] == pytest.approx(min(sum(held) / 3, math.exp(200)))
        assert starts[number] == began[held.index(max(held))]


def test_a_bet_wins_nothing_on_average_without_a_change() -> None:
    values = [0.05, 0.31, 0.32, 0.77] * 5
    before = capitals(np.array(values))[0][-1]
    after = [capitals(np.array([*values, (fell + 0.5) / 10]))[0][-1] for fell in range(10)]
    assert before > 1  # so that no capital is put up again, which would add to the mean
    assert np.mean(after) == pytest.approx(before, rel=0.05)


def test_1000_questions_without_a_change_rarely_raise_an_alarm() -> None:
    rng = np.random.default_rng(1)
    alarms = sum(bool((capitals(rng.random(1_000))[0] >= LIMIT).any()) for _ in range(200))
    assert 1 <= alarms <= 14  # expected are about 6


def test_7200_questions_reach_the_limit_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    alarms = sum(bool((capitals(rng.random(7_200))[0] >= LIMIT).any()) for _ in range(200))
    assert stats.binom.ppf(0.005, 200, 0.18) <= alarms <= stats.binom.ppf(0.995, 200, 0.18)


@pytest.mark.parametrize(
    ("mean", "spread", "within"), [(-1.0, 1.0, 60), (1.0, 1.0, 60), (0.0, 0.3, 60), (-3.0, 1.0, 20)]
)
@pytest.mark.parametrize("before", [0, 700])
def test_a_change_is_seen_soon_however_many_questions_came_before(
    before: int, mean: float, spread: float, within: int
) -> None:
    found = [alarm(before, mean, seed, spread) for seed in range(SEEDS)]
    delays = [one.raised - before for one in found if one is not None and one.raised >= before]
    assert len(delays) >= 0.9 * SEEDS
    assert np.median(delays) <= within
    begun = [one.began for one in found if one is not None and one.raised >= before]
    assert np.median(np.abs(np.array(begun) - before)) <= within


def test_no_questions_and_no_labels_say_nothing() -> None:
    assert find_shift([], [0.5], "a") is None
    assert find_shift([0.5], [], "a") is None


def test_100000_questions_do_not_overflow() -> None:
    held, _ = capitals(np.concatenate([np.random.default_rng(2).random(20_000), np.full(80_000, 0.01)]))
    assert held.max() == pytest.approx(math.exp(200)) and np.isfinite(held).all()


@pytest.mark.parametrize(("shift", "count"), [(0.0, 200), (0.1, 200), (0.5, 60), (3.0, 50)])
def test_the_distance_agrees_with_scipy(shift: float, count: int) -> None:
    rng = np.random.default_rng(count)
    one, other = rng.normal(size=300), rng.normal(shift, size=count)
    assert distance(one.tolist(), other.tolist()) == pytest.approx(stats.ks_2samp(one, other).statistic)


def test_an_empty_sample_has_no_distance() -> None:
    assert distance([], [0.5]) == distance([0.5], []) == 0.0
