"""An evaluation of answers keeps up with the limit of concurrent requests."""

from __future__ import annotations

import pytest

from tests.wings.ragas.judging.slow_judge import measure


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("rows", "calls", "ratio"), [(60, 4, 2.0), (1_000, 8, 1.3)])
def test_rows_by_six_metrics_take_little_more_than_the_limit_allows(rows: int, calls: int, ratio: float) -> None:
    """Generous for few rows, since other tests may share the machine."""
    figures = measure(rows=rows, latency=0.05, calls=calls)
    assert figures.scored == rows * 6
    assert figures.ratio <= ratio
