"""The simulated years of drift, against what was worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("chatbot_mvp.wings.promise")

from benchmarks.drift import WITHIN, outcome
from benchmarks.drift_pools import Pool
from benchmarks.drift_rules import BUDGET, RULES, Course, label_capitals, until
from benchmarks.drift_years import BASE, DRIFTS, LEVEL, QUESTIONS, Calibrations, Drift, Year, year


def pool(right: float, low: float, high: float) -> Pool:
    """200 questions with evidence between two values, a share of whose answers is right."""
    evidence = np.linspace(low, high, 200)
    return Pool(evidence, np.arange(200) % 100 >= 100 * right, ("answerable" if right else "near",) * 200)


@pytest.fixture(scope="module")
def calibrations() -> Calibrations:
    pools = {"answerable": pool(0.99, 0.3, 1.0), "near": pool(0.0, 0.0, 0.4), "far": pool(0.0, 0.0, 0.1)}
    return Calibrations({**pools, "outdated": pool(0.0, 0.3, 1.0), "removed": pool(0.0, 0.0, 0.6)})


def drawn(calibrations: Calibrations, name: str) -> Year:
    found = year(calibrations, DRIFTS[name], 3)
    assert found is not None
    return found


@pytest.mark.parametrize(("more", "late"), [(WITHIN, False), (WITHIN + 1, True)])
def test_a_withdrawal_is_late_after_more_than_50_answers_under_a_broken_promise(
    calibrations: Calibrations, more: int, late: bool
) -> None:
    base = drawn(calibrations, "none")
    broken = np.where(np.arange(QUESTIONS) >= 1_000, 2 * LEVEL, 0.0)
    answered = np.arange(QUESTIONS) % 2 == 0
    found = outcome(replace(base, rate=broken, answered=answered, changed=900), until(1_000 + 2 * more))
    assert (found.late, found.given, found.early, found.needless) == (late, more, False, False)
    assert found.stands == pytest.approx((1_000 + 2 * more) / QUESTIONS)


def test_a_promise_withdrawn_before_the_change_or_without_a_break_is_told_apart(calibrations: Calibrations) -> None:
    base = drawn(calibrations, "none")
    never = outcome(replace(base, rate=np.zeros(QUESTIONS)), until(500))
    assert (never.late, never.given, never.early, never.needless) == (False, None, True, True)
    stands = outcome(replace(base, rate=np.full(QUESTIONS, 1.0), changed=0), until(QUESTIONS))
    assert (stands.late, stands.given, stands.early) == (True, int(base.answered.sum()), False)


def test_the_true_rate_is_the_share_of_wrong_ones_among_the_answers(calibrations: Calibrations) -> None:
    for name in ("none", "documents: 15 % outdated at once"):
        one = drawn(calibrations, name)
        for part in (slice(0, one.changed), slice(one.changed, None)):
            wrong = one.wrong[part][one.answered[part]]
            if wrong.size:
                rate = one.rate[part].mean()
                assert abs(wrong.mean() - rate) <= 4 * (rate * (1 - rate) / wrong.size) ** 0.5


def test_a_bet_on_labels_wins_nothing_on_average_at_the_promised_level() -> None:
    first = [next(iter(label_capitals([bad], [1.0]))) for bad in (False, True)]
    assert (1 - LEVEL) * first[0] + LEVEL * first[1] == pytest.approx(1.0)
    # Half of the labels go where wrong answers are rarer than elsewhere: a weight makes up for the choice.
    halved = [next(iter(label_capitals([bad], [0.5]))) for bad in (False, True)]
    assert (1 - LEVEL / 2) * halved[0] + LEVEL / 2 * halved[1] == pytest.approx(1.0)


def test_no_rule_asks_for_more_than_100_labels_and_each_gives_one_course(calibrations: Calibrations) -> None:
    one = drawn(calibrations, "documents: 50 % removed in six months")
    for name, rule in RULES.items():
        course = rule(one, 1)
        assert course.stands.shape == (QUESTIONS,) and course.stands[0], name
        assert 0 <= course.labels <= BUDGET, name
        assert np.array_equal(course.stands, rule(one, 1).stands), name


def test_passages_that_go_withdraw_a_promise_before_it_is_broken(calibrations: Calibrations) -> None:
    one = drawn(calibrations, "documents: 30 % removed at once")
    course: Course = RULES["evidence, passages"](one, 1)
    assert not course.stands[one.changed :].any() and course.stands[one.changed - 1]


def test_the_mix_is_the_base_before_the_change(calibrations: Calibrations) -> None:
    kept = Drift(BASE, lambda day, start: np.ones_like(day))
    one = year(calibrations, kept, 3)
    assert one is not None and one.changed == QUESTIONS and np.ptp(one.rate) == pytest.approx(0.0)
