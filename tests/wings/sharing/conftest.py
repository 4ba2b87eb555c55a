"""Fixtures: a place in the bucket, and servers that share it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.s3_server import BUCKET, S3Server
from tests.wings.sharing.servers import Server, new_prefix


@pytest.fixture
def prefix() -> str:
    return new_prefix()


@pytest.fixture
def server(s3: S3Server, settings: Settings, prefix: str, tmp_path: Path) -> Server:
    def start(name: str) -> App:
        return fake_app(
            s3.settings(settings, "none", data_dir=tmp_path / name, data_root=f"s3://{BUCKET}/{prefix}"),
            embedder=lambda _: FakeEmbedder(),
            chat_model=DemoModel,
            language_model=lambda *_: FakeLanguageModel().model,
        )

    return start
