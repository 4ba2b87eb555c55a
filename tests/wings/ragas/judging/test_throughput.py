"""An evaluation of answers keeps up with the limit of concurrent requests."""

from __future__ import annotations

import pytest

from tests.cases import draws
from tests.wings.ragas.judging.slow_judge import measure


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("rows", "calls"), [(30, 4), (draws(1_000, 100), 8)], ids=["few", "many"])
def test_rows_by_six_metrics_take_little_more_than_the_limit_allows(rows: int, calls: int) -> None:
    """Half of what one request after the other would take: other tests share the machine. Alone it is 1.3 at most."""
    figures = measure(rows=rows, latency=0.2, calls=calls)
    assert figures.scored == rows * 6
    assert figures.ratio <= calls / 2
