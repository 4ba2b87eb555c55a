"""What a tune promises, on configurations of known gain: the planted one is found, and none is invented."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chatbot_mvp.wings.tune.power import power_of
from tests.cases import draws
from tests.wings.tune.simulation import CASES, MIN_EFFECT, measure, search


def test_a_planted_configuration_is_found_and_none_is_invented_in_a_sample_of_the_simulation() -> None:
    case = CASES[0]
    power = power_of(60, 60, case.configurations, MIN_EFFECT, case.variance, simulations=60)
    rng = np.random.default_rng(7)
    found = [search(case, 0.3, rng, power) for _ in range(12)]
    assert sum(one.recommended and one.winner is not None and one.winner.config_id == "planted" for one in found) >= 11
    null = [search(case, 0.0, rng, power) for _ in range(12)]
    assert sum(one.recommended for one in null) <= 2
    assert power.found[power.effects.index(0.3)] >= 0.9
    assert power.found[power.effects.index(0.05)] < 0.3


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_the_printed_power_holds_and_null_searches_name_no_winner() -> None:
    searches = draws(500, 60)
    noise = 1.645 * math.sqrt(0.05 * 0.95 / searches)
    for row in measure(searches, searches):
        assert row.found is not None
        assert row.found >= 0.95 - noise, row
        assert row.false_winners <= 0.05 + draws(0, 1) * noise, row
