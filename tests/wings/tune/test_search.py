"""Rounds, ties, early end, the front, and the split of the questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import one_sided_p
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.tune.confirming import differences, rise_p, sign_test_p, verdict_of
from chatbot_mvp.wings.tune.halving import front, halving, round_plan, round_sizes
from chatbot_mvp.wings.tune.space import FREE, WITH_MODEL, configurations, sends_requests


def test_each_round_has_twice_the_questions_and_half_the_configurations() -> None:
    assert round_sizes(120) == (30, 60, 120)
    assert round_sizes(12) == (12,)
    assert round_plan(200, 60) == ((200, 15), (100, 30), (50, 60))


def searched(table: Floats, min_effect: float = 0.02) -> tuple[list[int], str]:
    calls: list[tuple[int, int]] = []

    def gains(rows: Sequence[int], size: int) -> Floats:
        calls.append((len(rows), size))
        part: Floats = table[list(rows), :size]
        return part

    found = halving(len(table), table.shape[1], gains, min_effect)
    assert calls == [(len(one.tried), one.questions) for one in found.rounds]
    return list(found.ranking), found.ended


def test_the_best_of_many_wins_and_equal_ones_keep_their_order() -> None:
    table = np.zeros((40, 60))
    table[31, ::3] = 1.0
    table[[5, 7], ::6] = 1.0
    ranking, ended = searched(table)
    assert ranking[:3] == [31, 5, 7]
    assert ended == ""


def test_a_search_ends_if_nothing_can_gain_the_smallest_effect_but_not_because_few_questions_agree() -> None:
    assert searched(np.zeros((4, 20)))[1] == ""
    worse = np.zeros((4, 400))
    worse[:, ::3] = -1.0
    assert searched(worse)[1] == "min_effect"


def test_the_front_keeps_what_nothing_beats_in_quality_cost_and_time() -> None:
    points = [(0.8, 0.0, 10.0), (0.9, 1.0, 50.0), (0.7, 0.0, 20.0), (0.8, 0.0, 10.0), (0.6, 0.0, 1.0)]
    assert front(points) == [0, 1, 4]


@pytest.mark.parametrize("rose", range(9))
def test_the_exact_sign_test_is_the_randomisation_test_for_changes_of_one_size(rose: int) -> None:
    gains = np.array([0.5] * rose + [-0.5] * (8 - rose) + [0.0] * 5)
    full = sign_test_p(rose, 8)
    assert rise_p(gains) == pytest.approx(full)
    if rose > 4:
        assert one_sided_p(-gains) == pytest.approx(full)


@pytest.mark.parametrize(("rose", "fell"), [(1, 0), (5, 0), (6, 0), (9, 2), (12, 1), (20, 12), (30, 8)])
def test_the_interval_leaves_out_0_if_the_test_is_significant_and_not_if_far_from_it(rose: int, fell: int) -> None:
    gains = np.array([1.0] * rose + [-1.0] * fell + [0.0] * (100 - rose - fell))
    [found] = differences([gains])
    assert found.low <= found.gain <= found.high
    assert found.low > 0 or found.p > 0.025
    assert found.low <= 0 or found.p <= 0.05


def test_a_winner_needs_significance_after_holm_and_the_smallest_effect() -> None:
    clear = np.array([1.0] * 12 + [0.0] * 48)
    [alone] = differences([clear])
    assert (alone.gain, alone.pairs, alone.better, alone.worse) == (0.2, 60, 12, 0)
    assert alone.low > 0.05
    assert verdict_of(alone, 0.02) == "better"
    assert verdict_of(alone, 0.3) == "too_small"
    close = np.array([1.0] * 5 + [0.0] * 55)
    assert verdict_of(differences([close])[0], 0.02) == "better"  # p = 1/32 alone
    assert verdict_of(differences([close, np.zeros(60)])[0], 0.02) == "no_difference"  # 1/16 of two
    assert verdict_of(differences([-clear])[0], 0.02) == "no_difference"


def test_every_setting_that_is_tried_has_a_place_of_its_own() -> None:
    tried = [row.tried for row in ROWS.values() if row.tried]
    assert len(FREE) + len(WITH_MODEL) == len(tried)
    assert len({(one.place, one.with_model) for one in tried}) == len(tried)


def test_no_two_configurations_have_one_fingerprint_and_none_sends_requests(settings: Settings) -> None:
    made = configurations(settings, FREE, 200, 42, lambda one: one)
    assert len({one.config_id for one in made}) == len(made) == 200
    assert not any(one.sends_requests for one in made)
    assert all(one.changes for one in made)
    assert sends_requests(settings.with_changes(query_expansion_llm=True))
    # A knob that the strategy ignores gives no second configuration.
    ignored = configurations(
        settings.with_changes(retrieval_strategy="LEXICAL"),
        [next(knob for knob in FREE if knob.name == "fusion")],
        200,
        42,
        lambda one: one,
    )
    assert ignored == []
