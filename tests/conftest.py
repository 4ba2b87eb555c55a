"""Fixtures for the core: settings that write to a temporary folder and read nothing of the machine's environment."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings import PROJECT_ROOT, Settings, load_settings
from tests.fakes import FakeEmbedder, FakeLanguageModel

# The same examples every time: a suite that is green stays green until the code changes.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=60, derandomize=True, database=None)
hypothesis.settings.load_profile("suite")


@pytest.fixture
def clean_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No setting in the environment, and a working folder without ``.env``; gives that folder."""
    known = {name.upper() for name in Settings.model_fields}
    for name in list(os.environ):
        if name.upper() in known:
            monkeypatch.delenv(name)
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def settings(clean_env: Path, tmp_path: Path) -> Settings:
    """The defaults, over an empty data folder; runs measure retrieval only."""
    return load_settings(data_dir=tmp_path / "data", generation_enabled=False)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def app(settings: Settings, embedder: FakeEmbedder) -> App:
    """The App with the demo provider, a fake embedder and a fake language model."""
    return App(
        settings, embedder=lambda _: embedder, chat_model=DemoModel, language_model=lambda *_: FakeLanguageModel().model
    )


@pytest.fixture(scope="session")
def shared_datasets() -> Path:
    """The large data sets beside the project."""
    folder = PROJECT_ROOT.parent / "shared" / "datasets"
    if not folder.is_dir():
        pytest.skip("needs ../shared/datasets")
    return folder
