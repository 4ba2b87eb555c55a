"""The test of two samples agrees with scipy where its p-value is asymptotic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from chatbot_mvp.wings.promise.live_watch import ks_test


@pytest.mark.parametrize(("shift", "count"), [(0.0, 200), (0.1, 200), (0.5, 60), (3.0, 50)])
def test_distance_and_p_value_agree_with_scipy(shift: float, count: int) -> None:
    rng = np.random.default_rng(count)
    one, other = rng.normal(size=300), rng.normal(shift, size=count)
    distance, p_value = ks_test(one.tolist(), other.tolist())
    expected = stats.ks_2samp(one, other)
    assert distance == pytest.approx(expected.statistic)
    scaled = distance * (300 * count / (300 + count)) ** 0.5
    assert p_value == pytest.approx(stats.kstwobign.sf(scaled), abs=1e-9)


def test_equal_samples_do_not_differ_and_an_empty_one_says_nothing() -> None:
    assert ks_test([0.1, 0.2], [0.1, 0.2]) == (0.0, 1.0)
    assert ks_test([], [0.5]) == (0.0, 1.0)


def test_samples_of_one_source_rarely_raise_an_alarm() -> None:
    rng = np.random.default_rng(1)
    alarms = sum(ks_test(rng.random(200).tolist(), rng.random(50).tolist())[1] < 0.01 for _ in range(1_000))
    assert alarms <= stats.binom.ppf(0.999, 1_000, 0.01)
