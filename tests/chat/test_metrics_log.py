"""Each question leaves a line; what was asked is in it only on request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings, load_settings
from tests.fakes import FakeChatModel, FakeEmbedder, fake_app

QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"
SECRET = "clave-que-no-debe-aparecer"


def lines(settings: Settings) -> list[dict[str, object]]:
    path = settings.data_dir / "logs" / "retrieval_metrics.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("log_queries", [False, True])
def test_a_line_per_question(clean_env: Path, tmp_path: Path, log_queries: bool) -> None:
    settings = load_settings(
        data_dir=tmp_path / "data", log_queries=log_queries, nvidia_api_key=SECRET, serve_token=SECRET
    )
    model = FakeChatModel("Cada persona dispone de 23 días laborables de vacaciones. [1] Y de un barco. [1]")
    app = fake_app(settings, embedder=lambda _: FakeEmbedder(), chat_model=lambda: model)
    kb_id = app.kbs.add_sample().kb_id
    app.answering.ask(kb_id, QUESTION)
    for _ in app.answering.stream(kb_id, "¿Qué altura tiene la torre Eiffel?", UserContext("general")):
        pass
    first, second = lines(settings)
    assert first["provider"] == "fake"
    assert first["method"] == "BRIDGE_HYBRID"
    assert (first["mode"], second["mode"]) == ("strict", "general")
    assert (first["outcome"], first["why"], first["topic"]) == ("answered", None, None)
    assert first["evidence"] > second["evidence"]
    assert isinstance(first["avg_similarity"], float)
    assert (first["query_expanded"], first["reranked"], first["fell_back"]) == (False, False, False)
    assert first["unsupported"] == 1
    assert 0 < first["seconds"] < 60
    assert first["query_hash"] != second["query_hash"]
    text = (settings.data_dir / "logs" / "retrieval_metrics.jsonl").read_text("utf-8")
    assert SECRET not in text
    assert ("vacaciones" in text, "Eiffel" in text) == (log_queries, log_queries)
    assert ("query" in first) is log_queries


def test_a_log_that_cannot_be_written_costs_no_answer(settings: Settings, app: App) -> None:
    settings.data_dir.mkdir(parents=True)
    (settings.data_dir / "logs").write_text("a file where the folder should be")
    kb_id = app.kbs.add_sample().kb_id
    assert "23 días" in app.answering.ask(kb_id, QUESTION).text


def test_a_line_tells_a_near_question_from_one_about_something_else(settings: Settings) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    kb_id = app.kbs.add_sample().kb_id
    for question in ("¿Cuánto dura el permiso de paternidad?", "¿Xqzw kjxv?"):
        app.answering.ask(kb_id, question)
    assert [(line["outcome"], line["why"]) for line in lines(settings)] == [
        ("nearest", "evidence"),
        ("refused", "topic"),
    ]
