"""The tests behind the gate: by hand, against SciPy's Wilson interval, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from chatbot_mvp.metrics.statistics.noninferiority import (
    GainTest,
    bounds,
    deviation_of,
    gain_tests,
    level_verdict,
    one_sided_p,
    power,
    questions_needed,
)
from tests.cases import draws
from tests.metrics.statistics import gate_simulation

TOLERANCE = 0.02


def gains_of(fell: int, rose: int, questions: int) -> np.ndarray:
    return np.array([-1.0] * fell + [1.0] * rose + [0.0] * (questions - fell - rose))


def found_for(fell: int, rose: int, questions: int, noise: float = 0.0, tolerance: float = TOLERANCE) -> GainTest:
    [found] = gain_tests([gains_of(fell, rose, questions)], [noise], tolerance)
    return found


@pytest.mark.parametrize(
    ("fell", "rose", "questions", "verdict"),
    [
        (0, 0, 20, "not_worse"),  # no score changed
        (0, 1, 20, "not_worse"),  # no question fell
        (0, 6, 300, "better"),  # 1 / 2^6 = 0.016
        (1, 0, 20, "unclear"),  # one question of 20 is 5 points
        (1, 0, 300, "not_worse"),  # the bound is -0.0145
        (15, 0, 300, "worse"),
        (4, 0, 100, "unclear"),  # 1 / 2^4 = 0.0625
        (5, 0, 100, "worse"),  # 1 / 2^5 = 0.03125, and 0.05 is more than the tolerance
        (6, 0, 400, "unclear"),  # a significant drop of 0.015, which is within the tolerance
        (60, 0, 10_000, "not_worse"),  # a significant drop of 0.006 that cannot be one of 0.02
    ],
)
def test_the_verdict_by_the_number_of_questions_that_fell_and_rose(
    fell: int, rose: int, questions: int, verdict: str
) -> None:
    assert found_for(fell, rose, questions).verdict == verdict


def test_the_p_of_a_drop_counts_every_sign_pattern_once_and_equal_sums_in_full() -> None:
    assert one_sided_p(gains_of(5, 0, 9)) == 1 / 2**5
    # Of the 2^4 patterns of four changes, 1 has the sum -4 and 4 have the sum -2.
    assert one_sided_p(gains_of(3, 1, 9)) == (1 + 4) / 2**4
    assert one_sided_p(gains_of(0, 0, 9)) == 1.0
    assert one_sided_p(np.array([])) is None


@pytest.mark.parametrize(("fell", "questions"), [(1, 40), (3, 300), (150, 300), (299, 300)])
def test_the_bounds_of_scores_of_0_and_1_are_those_of_wilson(fell: int, questions: int) -> None:
    low, high = bounds(gains_of(fell, 0, questions))
    wilson = stats.binomtest(fell, questions).proportion_ci(0.9, method="wilson")
    assert (-high, -low) == pytest.approx((wilson.low, wilson.high), abs=1e-6)


def test_the_bounds_of_many_continuous_gains_are_those_of_the_normal_distribution() -> None:
    gains = np.random.default_rng(3).normal(-0.01, 0.2, 4_000)
    error = stats.norm.ppf(0.95) * gains.std() / len(gains) ** 0.5
    assert bounds(gains) == pytest.approx((gains.mean() - error, gains.mean() + error), abs=2e-4)


def test_the_noise_between_repeats_keeps_equal_means_from_being_certain() -> None:
    assert found_for(0, 0, 40).verdict == "not_worse"
    noisy = found_for(0, 0, 40, noise=0.04)
    assert noisy.verdict == "unclear"
    assert noisy.low == pytest.approx(-stats.norm.ppf(0.95) * 0.2 / 40**0.5)
    assert noisy.noise == pytest.approx(1.0)
    assert noisy.needed_if_equal == questions_needed(0.2, TOLERANCE) == 619
    assert found_for(0, 0, 700, noise=0.04).verdict == "not_worse"


def test_an_unclear_gate_names_how_many_questions_would_do() -> None:
    found = found_for(3, 0, 40)
    assert (found.verdict, found.p_worse) == ("unclear", 1 / 8)
    assert found.needed_if_equal is not None
    assert found.needed_if_real is not None
    # With that many questions and the same shares, the drop is significant.
    assert found_for(round(found.needed_if_real * 3 / 40), 0, found.needed_if_real).verdict == "worse"
    assert found_for(3, 0, 40, tolerance=0.0).needed_if_equal is None


def test_holm_makes_several_metrics_share_the_false_alarms() -> None:
    alone = found_for(5, 0, 100)
    assert alone.verdict == "worse"
    together = gain_tests([gains_of(5, 0, 100), gains_of(0, 0, 100)], [0.0, 0.0], TOLERANCE)
    assert [found.verdict for found in together] == ["unclear", "not_worse"]
    assert together[0].p_worse == 2 / 2**5


def test_nothing_scored_is_unclear() -> None:
    [found] = gain_tests([np.array([])], [0.0], TOLERANCE)
    assert (found.verdict, found.mean, found.pairs) == ("unclear", None, 0)


def test_a_level_is_reached_missed_or_unclear() -> None:
    scores = np.array([1.0] * 30 + [0.0] * 10)
    assert level_verdict(scores, 0.75)[0] == "not_worse"
    assert level_verdict(scores, 0.8)[0] == "unclear"
    assert level_verdict(scores, 0.9)[0] == "worse"
    assert level_verdict(np.array([]), 0.5) == ("unclear", None, None)


@pytest.mark.slow
def test_the_printed_power_and_the_promised_rates_hold_in_a_sample_of_the_simulation() -> None:
    """300 questions of which 10 % change: no change is called worse in <= 5 %, a drop of 5 points in >= 80 %.

    200 trials, so that a share of 0.05 has a standard error of 0.015 and one of 0.8 of 0.028.
    """
    case = next(case for case in gate_simulation.CASES if case.name == "hit@1, 10 % change")
    equal = gate_simulation.rates(case, 300, 0.0, trials=200)
    assert equal["worse"] <= 0.05 + 0.015
    fallen = gate_simulation.rates(case, 300, 0.05, trials=200)
    assert fallen["worse"] >= 0.8
    assert fallen["not worse"] <= 0.01
    assert fallen["worse"] == pytest.approx(fallen["printed"], abs=2 * 0.028)
    printed = power(300, deviation_of(0.1, 0.05), 0.05, TOLERANCE, step=1.0)
    assert fallen["printed"] == pytest.approx(printed, abs=0.001)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_printed_power_and_the_promised_rates_hold() -> None:
    """Every kind of score: as printed within three standard errors, and false alarms, of few trials within two."""
    trials = draws(1_000, 200)
    for row in gate_simulation.measure(trials=trials):
        assert row.rates["worse"] == pytest.approx(row.rates["printed"], abs=3 * math.sqrt(0.25 / trials)), row
        if row.drop == 0.0:
            assert row.rates["worse"] <= 0.05 + draws(0, 2) * math.sqrt(0.05 * 0.95 / trials), row
