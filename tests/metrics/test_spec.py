"""Specifications of metrics: families of cutoffs, places, order, and the questions to which a metric applies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.metrics.spec import MetricSpec, Shown, at_cutoffs, shown_in


def test_a_family_has_one_metric_per_cutoff_that_scores_at_its_own_cutoff() -> None:
    shown = {3: Shown(1, ("tile",))}
    specs = at_cutoffs("found", lambda k, ranking, qrels: k + len(ranking) + len(qrels) / 10, (2, 3), shown=shown)
    first, second = specs
    assert [(spec.name, spec.k, spec.takes, spec.shown) for spec in specs] == [
        ("found@2", 2, "ranking", None),
        ("found@3", 3, "ranking", shown[3]),
    ]
    assert first.score(["a", "b"], {"a": 1}) == 4.1
    assert second.score(["a", "b"], {"a": 1}) == 5.1


def test_a_family_is_better_when_higher_unless_said() -> None:
    assert all(spec.higher_is_better is True for spec in at_cutoffs("found", lambda k, ranking, qrels: 0.0))
    lower = at_cutoffs("lost", lambda k, ranking, qrels: 0.0, (1,), higher_is_better=False)
    assert [spec.higher_is_better for spec in lower] == [False]


def test_metrics_of_a_place_come_in_their_display_order() -> None:
    one = MetricSpec("one", "ranking", shown=Shown(2, ("tile", "compared")))
    two = MetricSpec("two", "ranking", shown=Shown(0, ("tile",)))
    hidden = MetricSpec("hidden", "ranking")
    assert shown_in("tile", {spec.name: spec for spec in (one, two, hidden)}) == ("two", "one")
    assert shown_in("compared", {spec.name: spec for spec in (one, two, hidden)}) == ("one",)


@pytest.mark.parametrize(("answer_type", "labels", "others"), [("", True, True), ("label", True, False)])
def test_a_metric_applies_to_its_kind_of_question(answer_type: str, labels: bool, others: bool) -> None:
    spec = replace(MetricSpec("a", "answer"), answer_type=answer_type)  # type: ignore[arg-type]
    assert (spec.applies_to(True), spec.applies_to(False)) == (labels, others)
    extractive = MetricSpec("b", "answer", answer_type="extractive")
    assert (extractive.applies_to(True), extractive.applies_to(False)) == (False, True)
