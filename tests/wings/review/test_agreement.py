"""Agreement of reviewers, against published examples and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chatbot_mvp.wings.review.agreement import agreement_of, cohens_kappa, krippendorffs_alpha


def test_kappa_of_the_example_of_two_readers_of_fifty_grants() -> None:
    """20 both yes, 5 yes/no, 10 no/yes, 15 both no: p_o 0.7, p_e 0.5, kappa 0.4."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    kappa, interval = cohens_kappa(pairs)
    assert kappa == pytest.approx(0.4)
    assert interval is not None and interval[0] < 0.4 < interval[1]


def test_equal_verdicts_leave_room_below_and_a_single_verdict_leaves_kappa_undefined() -> None:
    kappa, interval = cohens_kappa([("a", "a"), ("b", "b")] * 5)
    assert kappa == 1 and interval is not None and interval[0] < 0.6 and interval[1] == pytest.approx(1)
    assert cohens_kappa([("a", "a")] * 9) == (None, None) == cohens_kappa([])


def test_alpha_of_krippendorff_s_example_with_missing_values() -> None:
    """Three coders, fifteen units, nominal: 0.691 (Krippendorff 2011)."""
    coders = ("*****34121133*3", "1*213343*******", "**21344*21133*4")
    units = [[value for value in unit if value != "*"] for unit in zip(*coders, strict=True)]
    assert krippendorffs_alpha(units) == pytest.approx(0.691, abs=0.0005)
    assert krippendorffs_alpha([["a", "a"]]) is None is krippendorffs_alpha([["a"]])


def test_two_people_get_kappa_and_three_get_alpha() -> None:
    two = agreement_of([{"ana": "right", "ben": "right"}, {"ana": "right", "ben": "wrong"}, {"ana": "right"}])
    assert (two.reviewers, two.agreed.count, two.agreed.total, two.alpha) == (2, 1, 2, None)
    assert two.kappa == 0
    three = agreement_of([{"ana": "right", "ben": "right"}, {"ana": "wrong", "eva": "wrong"}])
    assert (three.reviewers, three.kappa, three.alpha) == (3, None, 1)
    none = agreement_of([])
    assert none.agreed.value is None is none.kappa


@pytest.mark.parametrize(("agree", "items"), [(0.7, 30), (0.9, 60)])
def test_the_interval_of_kappa_covers_the_true_one(agree: float, items: int) -> None:
    """Two verdicts, equally frequent: kappa is 2 * agree - 1. At least 92 % of 500 intervals have it."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(500):
        first = rng.integers(0, 2, items)
        second = np.where(rng.random(items) < agree, first, 1 - first)
        _, interval = cohens_kappa([(str(one), str(other)) for one, other in zip(first, second, strict=True)])
        covered += interval is not None and interval[0] <= 2 * agree - 1 <= interval[1]
    assert covered >= 460
