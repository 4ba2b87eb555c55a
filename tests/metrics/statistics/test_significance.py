"""The paired randomisation test and Holm's correction, by hand and by calibration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from chatbot_mvp.metrics.statistics.significance import EXACT_PAIRS, holm, randomisation_p
from tests.metrics.statistics import significance_simulation as simulation


def p_of(*differences: float) -> float:
    return float(randomisation_p(np.array(differences)[:, None])[0])


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        # Of + and - both reach 1, neither exceeds it: half of 2/2.
        ([1.0], 1 / 2),
        # Of the 2^3 patterns only all + and all - reach 3.
        ([1.0, 1.0, 1.0], 1 / 8),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1 / 64),
        # The sums of 1, 2, 4 with signs are ±7, ±5, ±3, ±1: two exceed 5, two equal it.
        ([-1.0, 2.0, 4.0], (2 + 2 / 2) / 8),
        # Pairs without a difference say nothing.
        ([0.0, 0.0, 1.0, 1.0, 1.0], 1 / 8),
        ([0.0, 0.0], 1.0),
        # A query that one of the runs has no score for is left out.
        ([float("nan"), 1.0, 1.0], 1 / 4),
        # Thirds: rounding must not part equal sums; of 8 patterns 2 give a sum of 0.
        ([1 / 3, 1 / 3, -2 / 3], (6 + 2 / 2) / 8),
    ],
)
def test_few_pairs_are_counted_exactly(differences: list[float], p: float) -> None:
    assert p_of(*differences) == p


def test_as_many_pairs_as_are_counted_exactly_have_a_p_without_chance() -> None:
    """All of one sign: of 2^14 patterns only all + and all - reach the sum, and they count by half."""
    assert p_of(*[1.0] * EXACT_PAIRS) == 2**-EXACT_PAIRS


def test_nothing_scored_has_no_p() -> None:
    assert np.isnan(p_of(float("nan"), float("nan")))


def test_with_ties_counted_whole_it_is_the_test_of_scipy() -> None:
    """Exactly for 10 pairs, within the error of sampling for 60."""
    rng = np.random.default_rng(6)
    for pairs, tolerance in ((10, 1e-12), (60, 0.012)):
        values = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=pairs)
        values[0] = 1.0
        theirs = stats.permutation_test(
            (values, np.zeros(pairs)),
            lambda one, other, axis: np.mean(one - other, axis=axis),
            permutation_type="samples",
            n_resamples=20_000,
            rng=np.random.default_rng(7),
        )
        assert randomisation_p(values[:, None], ties=1.0)[0] == pytest.approx(theirs.pvalue, abs=tolerance)


def test_a_sample_of_patterns_agrees_with_the_exact_count() -> None:
    """20 differences of 1, 16 up and 4 down: 2 P(at most 3 of 20 heads) + P(4 heads) = 0.002577 + 0.004621."""
    assert p_of(*[1.0] * 16, *[-1.0] * 4) == pytest.approx(0.007198, abs=0.0018)


def test_p_is_never_0_the_same_each_time_and_for_each_metric_on_its_own() -> None:
    values = np.random.default_rng(4).normal(0.2, 1, (60, 3))
    values[:, 0] = 1.0
    together = randomisation_p(values)
    assert together[0] == 0.5 / 20_001
    assert np.array_equal(together, randomisation_p(values))
    assert [float(randomisation_p(values[:, [column]])[0]) for column in range(3)] == together.tolist()


def test_the_sign_of_a_comparison_does_not_change_p() -> None:
    values = np.random.default_rng(5).normal(0.1, 1, (EXACT_PAIRS, 1))
    assert randomisation_p(values) == randomisation_p(-values)


@pytest.mark.parametrize(
    ("values", "corrected"),
    [
        # 0.01*3, 0.04*1 but not below 0.03*2.
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.6, 0.9], [1.0, 1.0]),
        ([0.02], [0.02]),
        # What was not tested is not charged for.
        ([None, 0.02, None, 0.04], [None, 0.04, None, 0.04]),
        ([], []),
    ],
)
def test_holm_multiplies_the_smallest_the_most_and_never_changes_the_order(
    values: list[float | None], corrected: list[float | None]
) -> None:
    assert holm(values) == pytest.approx(corrected)


_QUICK = ("recall@5, 298 questions", "F1, zero-inflated", "recall@5, 40 questions")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "kind", [kind if kind in _QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in simulation.NULL]
)
def test_runs_without_a_true_difference_are_called_different_in_one_pair_of_twenty(kind: str) -> None:
    """Of 1,000 pairs, and of the intervals of 300 of them."""
    rates = simulation.rates(simulation.NULL[kind], 1_000)
    assert 0.03 <= rates["p < 0.05"] <= 0.07
    assert 0.01 <= rates["interval without 0"] <= 0.09


def test_a_true_difference_is_found() -> None:
    assert simulation.power(0.1, 200)["p < 0.05"] > 0.8
