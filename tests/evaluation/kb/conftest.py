from __future__ import annotations

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings, load_settings


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo"))
