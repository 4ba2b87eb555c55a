"""An evaluation of answers keeps up with the limit of concurrent requests."""

from __future__ import annotations

import pytest

from tests.wings.ragas.judging.slow_judge import measure


@pytest.mark.slow
def test_an_evaluation_keeps_up_with_the_limit_of_concurrent_requests() -> None:
    """Sixty rows; generous, since other tests may share the machine."""
    figures = measure(rows=60, latency=0.05, calls=4)
    assert figures.scored == 360
    assert figures.ratio <= 2.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_rows_by_six_metrics_take_little_more_than_the_limit_allows() -> None:
    figures = measure(rows=1_000, latency=0.05, calls=8)
    assert figures.scored == 6_000
    assert figures.ratio <= 1.3
