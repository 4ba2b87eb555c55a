"""From per-query scores to one figure."""

from __future__ import annotations

import pytest

from chatbot_mvp.metrics.statistics.aggregate import Aggregate, aggregate


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # (1.0 + 0.5 + 0.0) / 3
        ([1.0, 0.5, 0.0], Aggregate(0.5, 3, 3)),
        # None is left out of the mean, not counted as 0: (1.0 + 0.5) / 2
        ([1.0, None, 0.5, None], Aggregate(0.75, 2, 4)),
        # A zero is a score.
        ([0.0, None], Aggregate(0.0, 1, 2)),
        ([None, None], Aggregate(None, 0, 2)),
        ([], Aggregate(None, 0, 0)),
    ],
)
def test_the_mean_is_over_the_scored_queries(scores: list[float | None], expected: Aggregate) -> None:
    assert aggregate(scores) == expected
    assert aggregate(iter(scores)) == expected
