"""Promises over clusters: what they need, what they bound, and that they hold when answers of a cluster are alike."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.wings.promise.clustered_risk import (
    Plan,
    cluster_bound,
    cluster_sequence,
    clusters_missing,
    least_level,
    plan_of,
)
from chatbot_mvp.wings.promise.risk import GRID, Judged
from tests.wings.promise.simulation import DOCUMENTS, FAR, Documents, simulate_documents, simulate_far

RIGHT = [Judged(0.9, False)] * 4
HALF = [Judged(0.9, False), Judged(0.9, True)]
REFUSED = [Judged(0.1, True)]


def bets(bet: float, start: int = 50) -> Plan:
    return Plan(start, (bet,) * (GRID + 1))


@pytest.mark.parametrize(("bet", "needed"), [(0.99, 59), (0.9, 65)])
def test_fifty_nine_right_documents_show_five_percent_with_the_largest_bet(bet: float, needed: int) -> None:
    """By hand: log(20) / log(1 + bet * 0.05 / 0.95)."""
    assert cluster_sequence([RIGHT] * (needed - 1), 0.05, bets(bet)) is None
    assert cluster_sequence([RIGHT] * needed, 0.05, bets(bet)) is not None
    assert clusters_missing([RIGHT] * 10, 0.05, 50) == 59 - 10
    assert clusters_missing([], 0.05, 50) == 59


def test_questions_of_one_document_count_once_and_refusing_documents_do_not_count() -> None:
    many = [RIGHT * 25] * 40
    assert cluster_sequence(many, 0.05, bets(0.99)) is None
    assert clusters_missing([*[RIGHT] * 10, *[REFUSED] * 90], 0.05, 50) == 49
    found = cluster_sequence([*[RIGHT] * 70, *[REFUSED] * 30], 0.05, bets(0.99))
    assert found is not None and (found.answered, found.wrong) == (280, 0)
    assert found.threshold == 0.11  # below it, thirty wrong answers come in


def test_the_bound_is_the_level_at_which_the_test_passes_and_grows_with_wrong_answers() -> None:
    clean = cluster_bound([RIGHT] * 60, 50, 0.99)
    assert cluster_sequence([RIGHT] * 60, clean + 1e-6, bets(0.99)) is not None
    assert cluster_sequence([RIGHT] * 60, clean - 1e-6, bets(0.99)) is None
    assert clean < cluster_bound([*[RIGHT] * 59, HALF], 50, 0.99) < 1
    assert cluster_bound([], 50, 0.9) == pytest.approx(1)
    assert least_level(60) == pytest.approx(clean, abs=1e-6) and least_level(0) == 1


def test_more_documents_are_not_asked_for_if_too_many_answers_are_wrong() -> None:
    assert clusters_missing([HALF] * 20, 0.05, 50) is None


def test_the_plan_starts_where_the_fit_is_right_and_bets_high_if_only_that_can_pass() -> None:
    fit = [[Judged(0.9, False), Judged(0.3, True)]] * 15
    plan = plan_of(fit, 0.05, 60)
    assert 30 < plan.start <= 90 and plan.bets[plan.start] == 0.99
    assert plan_of([], 0.05, 60).start == plan_of([REFUSED] * 0, 0.05, 0).start == 0
    assert plan_of([[Judged(0.0, True)]], 0.05, 60).start == 0


@pytest.mark.parametrize(
    ("name", "calibrations"),
    [("overlapping, 3 each, 0.3", 40), *(pytest.param(name, 500, marks=pytest.mark.slow) for name in DOCUMENTS)],
)
def test_promises_by_document_are_broken_in_five_percent_at_most(name: str, calibrations: int) -> None:
    by_document = simulate_documents(DOCUMENTS[name], calibrations, 100, 0.1, 7)
    assert by_document.broken / calibrations <= 0.05 + 2 * (0.05 * 0.95 / calibrations) ** 0.5


def test_promises_are_made_where_documents_are_good() -> None:
    """Otherwise a test of broken promises would prove nothing."""
    good = Documents(DOCUMENTS["overlapping, 10 each, 0.8"].shape, (10,), 0.5)
    by_document = simulate_documents(good, 10, 120, 0.1, 3)
    assert by_document.made >= 8


@pytest.mark.parametrize("name", list(FAR))
def test_the_promise_for_far_questions_holds(name: str) -> None:
    found = simulate_far(name, 60, 100, 0.05, 2)
    assert found.broken <= 8


def test_the_answers_of_the_simulated_documents_are_alike() -> None:
    """The variance of a document's share is that of independent answers times the design effect, well above 1."""
    from tests.wings.promise.simulation import draw_documents

    drawn = draw_documents(DOCUMENTS["just above, 10 each, 0.8"], 4_000, 0.05, np.random.default_rng(1))
    shares = drawn.wrong.reshape(-1, 10).mean(axis=1)
    assert shares.mean() == pytest.approx(0.05, abs=0.01)
    assert shares.var() > 4 * 0.05 * 0.95 / 10
