"""A plan says what a run will do, and does nothing."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.benchmark.plan import CachedVectors
from chatbot_mvp.retrieval.strategies import STRATEGIES
from tests.fakes import FakeEmbedder
from tests.raising import raises


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_plan_foretells_the_run(app: App, strategy: str) -> None:
    changes = {"retrieval_strategy": strategy, "eval_max_queries": 5, "eval_max_corpus": 60}
    plan = app.runs.plan_run(**changes)
    assert not app.settings.data_dir.exists()
    result = app.runs.run_now(**changes)
    assert (plan.dataset, plan.strategy, plan.fingerprint) == (result.dataset, strategy, result.fingerprint)
    assert (plan.queries, plan.documents) == (result.queries, result.documents)
    manifest = app.settings.results_dir / result.run_id / "manifest.json"
    assert f'"dataset_sha256": "{plan.dataset_sha256}"' in manifest.read_text("utf-8")


def test_a_plan_knows_what_is_cached_and_embeds_nothing(app: App, embedder: FakeEmbedder) -> None:
    changes = {"retrieval_strategy": "HYBRID"}
    before = app.runs.plan_run(**changes)
    assert embedder.embedded == []
    assert (before.index_cached, before.vectors) == (False, CachedVectors(0, 80))
    app.runs.run_now(**changes)
    asked = len(embedder.embedded)
    after = app.runs.plan_run(**changes)
    assert (after.index_cached, after.vectors) == (True, CachedVectors(80, 80))
    assert len(embedder.embedded) == asked
    # Of other documents, those that are the same need not be embedded again.
    assert app.runs.plan_run(**changes, eval_max_corpus=30).vectors == CachedVectors(30, 30)


def test_a_plan_makes_no_run(app: App) -> None:
    app.runs.plan_run(retrieval_strategy="LEXICAL")
    assert (app.archive.unfinished(), app.archive.runs()[0], app.runs.jobs()) == ([], [], [])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"mteb_dataset_name": "nope"}, "dataset_not_found"),
        ({"retrieval_strategy": "MAGIC"}, "unknown_choice"),
        ({"eval_max_corpus": -1}, "invalid_setting"),
        ({"dev_mode": True, "dev_corpus_size": 1}, "invalid_setting"),
    ],
)
def test_a_plan_is_refused_as_the_run_would_be(app: App, changes: dict[str, object], code: str) -> None:
    for attempt in (app.runs.plan_run, app.runs.run_now):
        with raises(code):
            attempt(**changes)
    assert not app.settings.results_dir.exists()


def test_lost_gold_is_a_warning_of_the_plan(app: App) -> None:
    plan = app.runs.plan_run(retrieval_strategy="LEXICAL", eval_max_corpus=10)
    [told] = plan.warnings
    assert told.code == "lost_gold" and "EVAL_MAX_CORPUS" in told.text
    assert f"{told.values['lost']} of {told.values['gold']}" in told.text
    blind = app.runs.plan_run(retrieval_strategy="LEXICAL", eval_max_corpus=10, eval_corpus_slice="blind")
    assert [one.code for one in blind.warnings] == ["blind"]
