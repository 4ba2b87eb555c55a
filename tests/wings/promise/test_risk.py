"""The bounds agree with scipy, and a fixed sequence breaks its promise no more often than it says."""

from __future__ import annotations

import pytest
from scipy import stats

from chatbot_mvp.wings.promise.risk import Judged, answers_needed, binomial_tail, fixed_sequence, start_of, upper_bound
from tests.wings.promise.simulation import SHAPES, simulate


@pytest.mark.parametrize(("wrong", "total"), [(0, 1), (0, 59), (1, 93), (7, 40), (39, 40), (25, 2_000)])
def test_bound_and_tail_agree_with_scipy(wrong: int, total: int) -> None:
    assert upper_bound(wrong, total) == pytest.approx(stats.beta.ppf(0.95, wrong + 1, total - wrong), abs=1e-9)
    for rate in (0.001, 0.05, 0.5, 0.99):
        assert binomial_tail(wrong, total, rate) == pytest.approx(stats.binom.cdf(wrong, total, rate), abs=1e-9)


def test_nothing_answered_and_everything_wrong_bound_nothing() -> None:
    assert upper_bound(0, 0) == upper_bound(5, 5) == binomial_tail(0, 0, 0.05) == 1.0


@pytest.mark.parametrize(("wrong", "level", "needed"), [(0, 0.05, 59), (1, 0.05, 93), (2, 0.05, 124), (0, 0.1, 29)])
def test_the_number_of_answers_needed_is_the_first_that_passes(wrong: int, level: float, needed: int) -> None:
    assert answers_needed(level, wrong=wrong) == needed
    assert upper_bound(wrong, needed) <= level < upper_bound(wrong, needed - 1)


def test_a_sequence_ends_before_the_first_threshold_that_fails_and_never_looks_behind() -> None:
    right = [Judged(0.905, False)] * 100
    found = fixed_sequence([*right, *[Judged(0.505, True)] * 50, *[Judged(0.105, False)] * 5_000], 0.05, 90)
    assert found is not None
    assert (found.threshold, found.strictest, found.answered, found.wrong) == (0.51, 0.9, 100, 0)
    assert fixed_sequence(right[:58], 0.05, 90) is None
    assert fixed_sequence(right, 0.05, 95) is None


def test_the_start_is_where_the_other_questions_say_that_it_can_pass() -> None:
    fit = [Judged(0.8, False)] * 30 + [Judged(0.3, True)] * 10
    assert 30 < start_of(fit, 0.05, 120) <= 80


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["overlapping", "useless, just above the level", "wrong at the top"])
def test_a_sample_of_simulated_promises_is_broken_no_more_often_than_5_percent_and_noise(name: str) -> None:
    found = simulate(SHAPES[name], 60, 160, 0.1, seed=3)
    assert found.broken <= stats.binom.ppf(0.99, found.calibrations, 0.05)
    assert found.made > 0


def test_good_scores_do_get_a_promise() -> None:
    found = simulate(SHAPES["separated"], 30, 250, 0.05, seed=1)
    assert found.made >= 25
    assert found.refused is not None and 0.35 < found.refused < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SHAPES))
def test_2000_simulated_promises_are_broken_no_more_often_than_5_percent_and_noise(name: str) -> None:
    found = simulate(SHAPES[name], 2_000, 200, 0.05, seed=11)
    assert found.broken <= stats.binom.ppf(0.99, found.calibrations, 0.05)


def test_a_fit_without_an_answer_begins_with_what_the_chat_ticks() -> None:
    assert start_of([Judged(-1.0, False)] * 9, 0.05, 40) == start_of([], 0.05, 40) == 0
