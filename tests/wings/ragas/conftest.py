"""A judge on loopback, the App that asks it, and rows to score."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.runs import task_loop
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.wings.ragas.judging import Prompts, load_prompts
from chatbot_mvp.wings.ragas.rows import InputRow, rows_from
from tests.fakes import FakeEmbedder, fake_app
from tests.wings.ragas.judging.judge_stub import JudgeStub

SAMPLE = PROJECT_ROOT / "data" / "samples" / "ragas_es.jsonl"
LABELLED = PROJECT_ROOT / "data" / "samples" / "judge_es.jsonl"


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_loop, "_REST_S", 0.05)


@pytest.fixture(scope="session")
def spanish() -> Prompts:
    return load_prompts("es")


@pytest.fixture
def stub(spanish: Prompts) -> Iterator[JudgeStub]:
    with JudgeStub(spanish, 0.0) as server:
        yield server


@pytest.fixture
def asking(settings: Settings, stub: JudgeStub) -> Settings:
    """The stub judges, eight requests at a time, nothing remembered."""
    return settings.with_changes(
        provider="openai",
        openai_base_url=stub.url,
        openai_api_key="stub-key-of-nobody",
        openai_model_name="judge",
        llm_cache_enabled=False,
        nim_max_concurrent_requests=8,
    )


def environment_of(settings: Settings, stub: JudgeStub) -> dict[str, str]:
    """The variables of a process of its own with the settings of ``asking``, and no others of the program."""
    return {
        **{name: text for name, text in os.environ.items() if name.upper() not in Settings.model_fields},
        "PROVIDER": "openai",
        "OPENAI_BASE_URL": stub.url,
        "OPENAI_API_KEY": "stub-key-of-nobody",
        "OPENAI_MODEL_NAME": "judge",
        "LLM_CACHE_ENABLED": "false",
        "DATA_DIR": str(settings.data_dir),
        "PYTHONPATH": str(PROJECT_ROOT),
    }


def app_of(settings: Settings) -> App:
    """As after a restart, with the real providers."""
    embedder = FakeEmbedder()
    return fake_app(settings, lambda _: embedder)


def given(path: Path = SAMPLE, count: int | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()][:count]


@pytest.fixture
def rows() -> Callable[[int], list[InputRow]]:
    """The first rows of the Spanish sample."""
    return lambda count: rows_from(given(count=count), "sample")
