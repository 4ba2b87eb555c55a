"""Fixtures: an App that retrieves by words and answers without a model, and a knowledge base with a draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings, load_settings
from tests.wings.effects.kb import QUESTIONS, made, staged, written


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.fixture
def kb_id(app: App) -> str:
    found = made(app)
    staged(app, found)
    return found


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """The question file."""
    return written(tmp_path / "preguntas.jsonl", QUESTIONS)
