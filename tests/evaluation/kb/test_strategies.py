"""Strategies over the same questions: the newest run of each, and which of them the questions tell apart."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.kb.strategies import COMPARED, strategy_figures
from chatbot_mvp.runs.line import RunLine
from tests.evaluation.kb.test_service import added, saved
from tests.made_results import made_line
from tests.waiting import wait_until


def line(run_id: str, strategy: str, first: float, **values: Any) -> RunLine:
    metrics = {"hit@1": first, "hit@3": 1.0}
    scored = {"hit@1": (20, 20), "hit@3": (20, 20)}
    facts = {"kind": "kb", "dataset": "kb/mías", "dataset_sha256": "same", "queries": 30, "documents": 9}
    return made_line(
        **{**facts, "run_id": run_id, "strategy": strategy, "metrics": metrics, "scored": scored, **values}
    )


def test_the_newest_run_of_each_strategy_counts_best_first() -> None:
    runs = [
        line("r5", "LEXICAL", 0.2, dataset_sha256="other questions"),
        line("r4", "HYBRID", 0.5),
        line("r3", "LEXICAL", 0.95),
        line("r2", "LEXICAL", 0.1),
    ]
    found = strategy_figures(runs, "r3")
    assert [(one.strategy, one.run_id, one.first.count) for one in found.figures] == [
        ("LEXICAL", "r3", 19),
        ("HYBRID", "r4", 10),
    ]
    assert found.missing == ("BRIDGE_HYBRID", "KB_CHAT")
    assert found.unclear == ()


def test_strategies_whose_intervals_meet_the_best_are_told() -> None:
    runs = [line("r1", "LEXICAL", 0.95), line("r2", "HYBRID", 0.9), line("r3", "KB_CHAT", 0.3)]
    assert strategy_figures(runs, "r1").unclear == ("HYBRID",)


def test_a_run_that_is_not_there_or_has_no_figures_gives_none() -> None:
    assert strategy_figures([], "r1").figures == ()
    unscored = line("r1", "LEXICAL", 0.0, scored={"hit@1": (0, 20), "hit@3": (0, 20)})
    assert strategy_figures([unscored], "r1").figures == ()


def test_missing_strategies_are_measured_one_after_the_other(app: App) -> None:
    kb_id = added(app)
    questions = saved(app, kb_id)
    run_id = app.kb_evaluation.start(kb_id, questions.set_id)
    wait_until(lambda: bool(app.kb_evaluation.results(kb_id)), 60, "the first result")
    # The result is there a moment before the job ends.
    wait_until(lambda: not any(job.status.active for job in app.kb_evaluation.jobs(kb_id)), 60, "the end of the job")
    started = app.kb_evaluation.start_strategies(kb_id, questions.set_id, ["KB_CHAT"])
    wait_until(lambda: len(app.kb_evaluation.results(kb_id)) == 2, 60, "the second result")
    found = app.kb_evaluation.strategies(run_id)
    assert {one.strategy: one.run_id for one in found.figures} == {"LEXICAL": run_id, "KB_CHAT": started[0]}
    assert set(found.missing) == set(COMPARED) - {"LEXICAL", "KB_CHAT"}
    assert app.details.manifest(started[0]).preset == "kb_chat"
