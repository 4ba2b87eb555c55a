"""Fixtures: an App that retrieves by words and answers without a model, and its knowledge base."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.wings.promise import service
from tests.wings.promise.labels import TEXT


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.fixture
def ticked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer counts as proven: words that only keep questions from repeating each other stand in no document."""
    monkeypatch.setattr(service, "score_of", lambda row, result: row.evidence)


@pytest.fixture
def kb_id(app: App) -> str:
    return app.kbs.add("normas.md", TEXT.encode()).kb_id
