"""The registry: every metric once, in its range, its direction told."""

from __future__ import annotations

from chatbot_mvp.metrics.registry import COMPARED, METRICS


def test_a_name_with_a_cutoff_says_it() -> None:
    assert {spec.k for spec in METRICS.values()} == {None, 1, 2, 3, 5, 10, 20}
    assert all(spec.name == (spec.family if spec.k is None else f"{spec.family}@{spec.k}") for spec in METRICS.values())


def test_only_the_complement_is_better_when_lower() -> None:
    lower = {spec.family for spec in METRICS.values() if not spec.higher_is_better}
    assert lower == {"complement_recall"}
    assert {spec.worst for spec in METRICS.values() if spec.family in lower} == {1.0}


def test_what_runs_are_compared_by_has_a_value_per_query() -> None:
    assert all(METRICS[name].takes != "run" for name in COMPARED)
