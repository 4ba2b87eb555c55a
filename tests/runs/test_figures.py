"""The figures of rows as a run with answers writes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.runs.causes import cause_of, outcome_of_row
from chatbot_mvp.runs.figures import answer_metrics, context_metrics, run_figures
from chatbot_mvp.runs.rows import QueryRow
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
        metrics={"hit@1": 0.0, **context_metrics(context, {"g": 1}), **answer_metrics(case)},
        retrieved=("a",),
        gold=("g",),
        generation_doc_ids=tuple(context),
        reranked=True,
        response=response,
        **more,
    )
    return replace(found, cause=cause_of(outcome_of_row(found, 1, "en", ["a", "g"])).value)


def test_answers_are_scored_where_they_apply_and_failures_are_told_apart() -> None:
    rows = [
        row("Yes, both.", "yes", "label", ["g"]),
        row("It was New York.", "New York", "extractive", ["g"]),
        row("Boston", "New York", "extractive", ["g"]),
        row("No idea", "New York", "extractive", ["a"]),
        row(None, "New York", "extractive", ["g"], failed=True),
    ]
    figures = run_figures(rows)
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
    assert list(run_figures([bare]).metrics) == ["mrr"]
    assert run_figures([bare]).reranker_rescue_count is None
