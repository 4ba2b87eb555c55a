"""What a review labels counts for a promise. Skipped without one of the two wings."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings, load_settings

pytest.importorskip("chatbot_mvp.wings.review")
pytest.importorskip("chatbot_mvp.wings.promise")

from chatbot_mvp.wings.promise.service import Promises
from chatbot_mvp.wings.review.service import Reviews
from tests.wings.review.test_service import ANA, DAYS, DIET, TEXT, ask, item, labels


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.fixture
def kb_id(app: App) -> str:
    return app.kbs.add("normas.md", TEXT.encode()).kb_id


def test_an_answer_called_wrong_without_the_right_passage_counts_against_the_promise(app: App, kb_id: str) -> None:
    ask(app, kb_id, DIET, DAYS)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DIET), "wrong", ANA)
    app.get(Reviews).judge(kb_id, item(app, kb_id, DAYS), "right", ANA)
    run = app.kb_evaluation.evaluate(kb_id, labels(app, kb_id).set_id)
    state = app.get(Promises).make(kb_id, run["run_id"], 0.05)
    assert state.promise.left_out == 0 and len(state.promise.scores) == 2
    result = app.kb_evaluation.result(kb_id, run["run_id"])
    assert {one.question.question: one.wrong for one in app.get(Promises).judged(result, result.rows)} == {
        DIET: True,
        DAYS: False,
    }
