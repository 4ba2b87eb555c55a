"""The figures of rows as a run with answers writes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.runs.causes import cause_of
from chatbot_mvp.runs.figures import answer_metrics, context_metrics, result_of_rows
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.storage.formats import RESULT
from tests.made_results import made_row


def row(response: str | None, answer: str, kind: str, context: list[str], **more: Any) -> QueryRow:
    """A question with the gold document g, which was not retrieved before reranking."""
    case = AnswerCase(response, answer, kind)
    found = QueryRow(
        query_id="q1",
        question="",
        answer=answer,
        answer_type=kind,
        question_type="bridge",
        level="",
        metrics={"hit@1": 0.0, **context_metrics(context, {"g": 1}), **answer_metrics(case)},
        retrieved=("a",),
        gold=("g",),
        generation_doc_ids=tuple(context),
        reranked=True,
        response=response,
        **more,
    )
    return replace(found, cause=cause_of(found, 1, "en", ["a", "g"]).value)


MANIFEST = RunManifest(
    "r1", "valle", "ref", "0" * 64, "BRIDGE", {}, "f", "1", 2, 5, "2030", generator="p/m", judge="p/j"
)


def test_answers_are_scored_where_they_apply_and_failures_are_told_apart() -> None:
    rows = [
        row("Yes, both.", "yes", "label", ["g"]),
        row("It was New York.", "New York", "extractive", ["g"]),
        row("Boston", "New York", "extractive", ["g"]),
        row("No idea", "New York", "extractive", ["a"]),
        row(None, "New York", "extractive", ["g"], failed=True),
    ]
    figures = result_of_rows(MANIFEST, rows, 0, {})
    assert figures.scored["accuracy"] == (1, 1)
    assert figures.scored["answer_contains"] == (3, 4)
    assert figures.scored["f1"] == (4, 5)
    assert figures.readings["answer_contains"] == (1 / 3, 1 / 4)
    assert figures.metrics["generation_hit"] == 4 / 5
    assert figures.reranker_rescue_count == 4
    assert {cause: count for cause, count in figures.causes.items() if count} == {
        "ok": 2,
        "answered_wrong": 1,
        "below_cut": 1,
        "not_scored": 1,
    }
    assert figures.splits["answer_type"]["label"]["accuracy"].mean == 1.0
    assert "accuracy" in figures.splits["question_type"]["bridge"]


def test_without_any_answer_a_run_has_no_metric_of_answers() -> None:
    bare = made_row(gold=["g"], retrieved=["g"], metrics={"mrr": 1.0}, cause="ok")
    result = result_of_rows(MANIFEST, [bare], 0, {})
    assert (list(result.metrics), result.reranker_rescue_count) == (["mrr"], None)


def test_a_result_of_rows_has_figures_and_the_names_of_the_manifest() -> None:
    rows = [row("Yes", "yes", "label", ["g"]), row("Boston", "New York", "extractive", ["a"])]
    result = result_of_rows(MANIFEST, rows, 3, {"retrieve": 1})
    for name in ("metrics", "scored", "readings", "intervals", "splits", "causes", "reranker_rescue_count"):
        assert getattr(result, name), name
    for name in ("run_id", "kind", "dataset", "dataset_sha256", "strategy", "fingerprint", "queries", "documents"):
        assert getattr(result, name) == getattr(MANIFEST, name), name
    assert (result.generator, result.judge, result.started_at) == ("p/m", "p/j", "2030")
    assert (result.damaged_records, result.failures, result.per_query) == (3, {"retrieve": 1}, tuple(rows))
    assert result.format_version == RESULT
