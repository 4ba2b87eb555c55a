"""Comparing runs: paired by question, refused where a difference would mean nothing, told by question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunNotFound
from chatbot_mvp.runs.comparable import ComparedRun, why_not_comparable
from chatbot_mvp.runs.comparison import compare_runs
from chatbot_mvp.runs.manifest import TREC, RunManifest
from tests.made_results import made_line, made_result
from tests.raising import raises

Scores = dict[str, list[float | None]]


def run(run_id: str, scores: Scores, **settings: Any) -> ComparedRun:
    """A run over q0, q1, … with these scores per metric."""
    count = len(next(iter(scores.values())))
    manifest = RunManifest(run_id, "valle", "valle", "0" * 64, "LEXICAL", settings, "f", "1", count, 5, "2030")
    rows = [
        {"query_id": f"q{n}", "question": f"¿{n}?", "metrics": {name: scores[name][n] for name in scores}}
        for n in range(count)
    ]
    return ComparedRun(manifest, made_result(metrics=dict.fromkeys(scores, 0.5), per_query=rows))


def test_figures_of_a_comparison_worked_out_by_hand() -> None:
    """Differences +1, +0.5, 0, -0.5 and one question without a score: mean 0.25 over 4 pairs.

    Signs of 1, 0.5, 0.5 give |sums| 2, 1, 1, 0 (twice each); the data give 1: p = (2 + 4 / 2) / 8.
    """
    base = run("a", {"recall@5": [0.0, 0.5, 1.0, 1.0, None]})
    other = run("b", {"recall@5": [1.0, 1.0, 1.0, 0.5, 1.0]})
    [delta] = compare_runs([base, other]).runs
    [metric] = delta.metrics
    assert (metric.base, metric.other, metric.delta) == (2.5 / 4, 3.5 / 4, 0.25)
    assert (metric.pairs, metric.total, metric.equal) == (4, 5, 1)
    assert metric.p == metric.p_holm == 0.5
    assert metric.interval is not None
    assert metric.interval[0] < 0 < metric.interval[1]
    assert [(c.query_id, c.base, c.other) for c in metric.improved] == [("q0", 0.0, 1.0), ("q1", 0.5, 1.0)]
    assert [(c.query_id, c.question) for c in metric.worsened] == [("q3", "¿3?")]


def test_a_comparison_says_what_was_compared() -> None:
    base = run("a", {"mrr": [0.0, 0.5]})
    found = compare_runs([base, run("b", {"mrr": [1.0, 0.5]}), run("c", {"mrr": [0.0, 0.5]})])
    assert (found.base, found.dataset, found.queries) == ("a", "valle", 2)
    assert [delta.run_id for delta in found.runs] == ["b", "c"]


def test_changes_are_listed_by_size_then_by_id_and_rounding_is_no_change() -> None:
    base = run("a", {"mrr": [0.5, 0.1, 0.3, 0.0, 0.5, 0.5]})
    other = run("b", {"mrr": [0.6, 0.3, 0.1 + 0.4, 1.0, 0.5 + 1e-12, 0.4]})
    [metric] = compare_runs([base, other]).runs[0].metrics
    # 0.3 - 0.1 and 0.5 - 0.3 differ in the last bit.
    assert [change.query_id for change in metric.improved] == ["q3", "q1", "q2", "q0"]
    assert [change.query_id for change in metric.worsened] == ["q5"]
    assert metric.equal == 1


def test_a_metric_that_no_question_has_in_both_runs_has_no_figures() -> None:
    base = run("a", {"mrr": [0.5, None], "recall@5": [0.5, None]})
    other = run("b", {"mrr": [None, 0.5], "recall@5": [1.0, None]})
    metrics = {metric.metric: metric for metric in compare_runs([base, other]).runs[0].metrics}
    none, one = metrics["mrr"], metrics["recall@5"]
    assert (none.base, none.other, none.delta, none.interval, none.p, none.p_holm) == (None,) * 6
    assert (none.pairs, none.total, none.equal) == (0, 2, 0)
    assert (one.delta, one.interval, one.pairs) == (0.5, None, 1), "one pair has no interval"


def test_the_order_of_the_questions_in_the_files_changes_nothing() -> None:
    base = run("a", {"recall@5": [0.0, 0.5, 1.0, 1.0], "mrr": [0.1, 0.2, 0.3, 0.4]})
    other = run("b", {"recall@5": [1.0, 0.5, 0.5, 1.0], "mrr": [0.1, 0.3, 0.3, 0.5]})
    shuffled = replace(other, result=replace(other.result, per_query=other.result.per_query[::-1]))
    assert compare_runs([base, other]) == compare_runs([base, shuffled])


def test_p_is_corrected_over_all_metrics_and_runs() -> None:
    base = run("a", {"recall@5": [0.0] * 6, "mrr": [0.0] * 6})
    better = run("b", {"recall@5": [1.0] * 6, "mrr": [0.0] * 6})
    same = run("c", {"recall@5": [0.0] * 6, "mrr": [0.0] * 6})
    comparison = compare_runs([base, better, same])
    table = {(delta.run_id, m.metric): (m.p, m.p_holm) for delta in comparison.runs for m in delta.metrics}
    assert table[("b", "recall@5")] == (1 / 64, 4 / 64)
    assert table[("c", "mrr")] == (1.0, 1.0)


def test_what_differs_in_the_configuration_is_listed() -> None:
    base = run("a", {"mrr": [1.0, 0.0]}, retrieval_k=20, kb_top_k=5, groq_api_key="***")
    other = run("b", {"mrr": [1.0, 0.0]}, retrieval_k=10, kb_top_k=5, groq_api_key="***", new_setting=1)
    other = replace(other, manifest=replace(other.manifest, fingerprint="g"))
    [delta] = compare_runs([base, other]).runs
    assert delta.configuration == {"retrieval_k": (20, 10), "new_setting": (None, 1), "fingerprint": ("f", "g")}


def test_settings_that_only_one_side_can_have_are_left_out_beside_an_imported_ranking() -> None:
    own = run("a", {"mrr": [1.0, 0.0]}, retrieval_k=20, kb_top_k=5)
    other = run("b", {"mrr": [1.0, 0.0]}, kb_top_k=3)
    imported = replace(other, manifest=replace(other.manifest, imported=TREC, code_version="2"))
    for pair in ([own, imported], [imported, own]):
        changed = compare_runs(pair).runs[0].configuration
        assert changed.keys() == {"kb_top_k", "code_version"}


def test_answers_that_were_scored_by_rules_of_different_scripts_are_named() -> None:
    """A run without answers has no rule."""

    def answered(run_id: str, rule: str) -> ComparedRun:
        found = run(run_id, {"f1": [1.0]})
        return replace(found, result=replace(found.result, generator="p/m", answer_rule=rule))

    before, *after = answered("a", ""), answered("b", "mlqa_evaluation_v1"), answered("c", "mlqa_evaluation_v1")
    [delta] = compare_runs([before, after[0]]).runs
    assert delta.configuration == {"answer_rule": (None, "mlqa_evaluation_v1")}
    assert compare_runs(after).runs[0].configuration == {}


def test_the_configurations_of_several_runs_are_one_table() -> None:
    """Each run has its own value of what differs anywhere, also where it is the base's."""
    base = run("a", {"mrr": [1.0, 0.0]}, retrieval_k=20, kb_top_k=5, dev_mode=False)
    deeper = run("b", {"mrr": [1.0, 0.0]}, retrieval_k=50, kb_top_k=5, dev_mode=False)
    fewer = run("c", {"mrr": [1.0, 0.0]}, retrieval_k=20, kb_top_k=3, dev_mode=False)
    comparison = compare_runs([base, deeper, fewer])
    assert comparison.configuration == {"retrieval_k": (20, 50, 20), "kb_top_k": (5, 5, 3)}


LINE = {"dataset": "valle", "dataset_sha256": "0", "queries": 40, "documents": 80}
ANSWERS = {"kind": "ragas", "dataset": "x", "dataset_sha256": "1"}


@pytest.mark.parametrize(
    ("base", "other", "why"),
    [
        (LINE, {**LINE, "strategy": "BRIDGE"}, None),
        (LINE, ANSWERS, "kind"),
        (LINE, {**LINE, "dataset": "otro", "queries": 3}, "dataset"),
        (LINE, {**LINE, "queries": 3, "documents": 3}, "questions"),
        (LINE, {**LINE, "documents": 3}, "documents"),
        (LINE, {**LINE, "dataset_sha256": "1"}, "documents"),
        # Whatever the file of a system's answers is called.
        (ANSWERS, {**ANSWERS, "dataset": "y"}, None),
        (ANSWERS, {**ANSWERS, "dataset_sha256": "2"}, "questions"),
    ],
)
def test_why_runs_cannot_be_compared_is_told_before_they_are_read(
    base: dict[str, Any], other: dict[str, Any], why: str | None
) -> None:
    assert why_not_comparable(made_line(**base), made_line(**other)) == why


def test_no_secret_is_told_among_what_differs() -> None:
    base = run("a", {"mrr": [1.0, 0.0]}, llm_base_url="http://u:one-secret@host/v1", groq_api_key="one-secret")
    other = run("b", {"mrr": [1.0, 0.0]}, llm_base_url="http://u:two-secret@other/v1", groq_api_key="two-secret")
    [delta] = compare_runs([base, other]).runs
    assert delta.configuration == {"llm_base_url": ("http://host/v1", "http://other/v1")}


def test_two_runs_of_the_app_compare_as_their_results_say(app: App) -> None:
    one = app.runs.run_now(retrieval_strategy="LEXICAL")
    two = app.runs.run_now(retrieval_strategy="BRIDGE")
    comparison = app.archive.compare([one.run_id, two.run_id])
    assert json.loads(json.dumps(comparison.to_json())) == json.loads(json.dumps(asdict(comparison)))
    [delta] = comparison.runs
    for metric in delta.metrics:
        assert metric.delta == pytest.approx(two.metrics[metric.metric] - one.metrics[metric.metric])
        assert len(metric.improved) + len(metric.worsened) + metric.equal == metric.pairs == 40
        assert metric.p is not None
        assert metric.p_holm is not None
        assert metric.p_holm >= metric.p
    assert delta.configuration["retrieval_strategy"] == ("LEXICAL", "BRIDGE")
    assert "fingerprint" in delta.configuration
    with pytest.raises(RunNotFound):
        app.archive.compare([one.run_id, "nope"])
    with raises("questions_differ"):
        app.archive.compare([one.run_id, app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3).run_id])


BASE = run("a", {"mrr": [1.0, 0.0], "map": [1.0, 0.0]})
OTHER = run("b", {"mrr": [1.0, 0.0], "f1": [1.0, 0.0], "map": [1.0, 0.0]})
ONLY_F1 = run("b", {"f1": [1.0, 0.0]})
LONGER = run("b", {"mrr": [1.0, 0.0, 0.5]})


def over(**changes: Any) -> list[ComparedRun]:
    """A pair, the second of which is over other data."""
    return [BASE, replace(OTHER, manifest=replace(OTHER.manifest, **changes))]


@pytest.mark.parametrize(
    ("runs", "metrics", "code", "said"),
    [
        ([], (), "nothing_to_compare", "compare: '?-"),
        ([BASE], (), "nothing_to_compare", r"compare: '?a'?\."),
        ([BASE, BASE], (), "nothing_to_compare", "a, a"),
        ([BASE, ONLY_F1], (), "nothing_to_compare", "a, b"),
        # What is legal stands behind what was asked for, and is what both runs have.
        ([BASE, OTHER], ["mrr", "f1"], "unknown_choice", "metric.*'f1'(?!.*f1).*mrr, map"),
        ([OTHER, BASE], ["mrr", "f1"], "unknown_choice", "metric.*'f1'(?!.*f1).*mrr, map"),
        ([BASE, ONLY_F1], ["mrr"], "unknown_choice", "-"),
        (over(dataset_sha256="1" * 64), (), "corpora_differ", r"'a' and 'b'.*\b1{12}\b"),
        (over(documents=4), (), "corpora_differ", "valle, 4"),
        (over(dataset="otro", documents=9), (), "corpora_differ", r"valle, 5, 0{12}\b.*otro, 9, 0{12}\b"),
        ([BASE, LONGER], (), "questions_differ", "'a' and 'b'.*0 are only in the first and 1 only in the second"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_with_their_names_the_reason_and_what_was_legal(
    runs: list[ComparedRun], metrics: Sequence[str], code: str, said: str
) -> None:
    with raises(code, match=said):
        compare_runs(runs, metrics)


def test_metrics_are_compared_in_the_order_asked_for_and_once() -> None:
    pair = [run(name, {"mrr": [1.0, 0.0], "map": [0.5, 0.5]}) for name in "ab"]
    [delta] = compare_runs(pair, ["map", "mrr", "map"]).runs
    assert [metric.metric for metric in delta.metrics] == ["map", "mrr"]


def test_a_complement_improves_by_falling_worsens_by_rising_and_the_largest_change_comes_first() -> None:
    name = "complement_recall@5"
    base, other = run("a", {name: [0.5, 0.25, 0.9, 0.5]}), run("b", {name: [0.6, 0.75, 0.2, 0.5]})
    [metric] = compare_runs([base, other], [name]).runs[0].metrics
    assert [change.query_id for change in metric.worsened] == ["q1", "q0"]
    assert [change.query_id for change in metric.improved] == ["q2"]
    assert (metric.delta, metric.equal) == (pytest.approx((0.1 + 0.5 - 0.7) / 4), 1)
