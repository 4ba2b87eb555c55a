"""The rate against simulated providers: what they would give at best, and how much they have to refuse."""

from __future__ import annotations

import pytest

from chatbot_mvp.remote.limiter import Pace
from tests.remote.simulated_provider import Provider, allowed, simulate


@pytest.mark.parametrize("seed", range(5))
def test_a_constant_share_of_refusals_costs_hardly_more_than_itself(seed: int) -> None:
    provider = Provider(share=0.2)
    rate, _ = simulate(Pace(), provider, 4_000, 8, 0.05, seed)
    assert rate >= 0.8 * allowed(provider, 8, 0.05)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [5.0, 40.0, 90.0])
def test_a_true_limit_is_used_and_seldom_run_into(limit: float, seed: int) -> None:
    provider = Provider(limit=limit)
    rate, refused = simulate(Pace(), provider, 1_500, 8, 0.05, seed)
    assert rate >= 0.8 * allowed(provider, 8, 0.05)
    assert refused <= 0.12


def test_a_share_of_refusals_is_learned_as_usual_and_the_rate_left_alone() -> None:
    pace, now = Pace(), 0.0
    for number in range(2_000):
        started = now = now + max(pace.interval, 0.01)
        pace.told(started, now + 0.005, refused=number % 5 == 0)
    assert pace.interval == 0
    assert pace.usual == pytest.approx(0.2, abs=0.05)
