"""How values spread, worked out by hand."""

from __future__ import annotations

from chatbot_mvp.runs.query_views import distribution


def test_counts_quantiles_and_missing_values_worked_out_by_hand() -> None:
    """0, 0, 0.3, 0.5, 1 in tenths: 0.3 belongs to the interval that begins there, 1 to the last one.

    Sorted, the quantile q lies at place 4q: 5 % at 0.2 between 0 and 0; 95 % at 3.8, 0.8 of the way from 0.5 to 1.
    """
    found = distribution([0.3, 0.0, None, 1.0, 0.5, 0.0], (0.0, 1.0))
    assert found is not None
    assert found.edges[3] == 0.3
    assert found.counts == (2, 0, 0, 1, 0, 1, 0, 0, 0, 1)
    assert (found.scored, found.missing, found.above) == (5, 1, 0)
    assert found.mean == 1.8 / 5
    assert [round(value, 9) for value in found.quantiles] == [0.0, 0.3, 0.9]


def test_a_long_tail_is_counted_above_the_last_edge() -> None:
    """Of 0 … 199 and 10,000 the 99th percentile lies at place 0.99 x 200 = 198."""
    found = distribution([*range(200), 10_000], bins=2)
    assert found is not None
    assert found.edges == (0.0, 99.0, 198.0)
    assert (found.counts, found.above) == ((99, 100), 2)
    assert sum(found.counts) + found.above == found.scored == 201


def test_nothing_and_only_zeros() -> None:
    assert distribution([]) is None
    assert distribution([None]) is None
    zeros = distribution([0.0, 0.0])
    assert zeros is not None
    assert zeros.counts[0] == 2
    assert (zeros.edges[0], zeros.edges[-1]) == (0.0, 1.0)


def test_the_largest_value_is_inside_although_the_edges_are_rounded() -> None:
    """Rounded to nine places the last edge would be 0.3333333330, below both values."""
    found = distribution([1 / 3, 1 / 3], bins=2)
    assert found is not None
    assert (found.counts, found.above) == ((0, 2), 0)
