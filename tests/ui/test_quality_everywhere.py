"""The quality of an answer, and the file and page of each source: the same in page, command, JSON and endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.cli import kb as kb_commands
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared import state
from streamlit_app.shared.state import get_app
from tests.conftest import Command
from tests.documents.made import pdf
from tests.fakes import FakeChatModel, FakeEmbedder, FakeLanguageModel, fake_app
from tests.server.serving import TOKEN, running, user
from tests.ui.test_pages import open_page, open_sources, texts
from tests.waiting import wait_until

CONTENT = pdf(
    [
        [("Gastos de viaje", 18.0), ("El kilómetro se paga a veintiséis céntimos.", 11.0)],
        [("Vacaciones", 18.0), ("Cada persona dispone de veintitrés días laborables.", 11.0)],
    ]
)
QUESTION = "¿Cuántos días laborables?"  # three words, so a language model expands it
REPLY = "Cada persona dispone de veintitrés días laborables. [1]"
KINDS = {"average_relevance": float, "evidence": float, "query_expanded": bool, "reranked": bool, "seconds": float}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    settings = load_settings(
        data_dir=tmp_path / "data",
        retrieval_strategy="HYBRID",
        query_expansion_llm=True,
        reranker_enabled=True,
        kb_doubt_evidence=1.0,
    )
    rater = FakeLanguageModel(lambda prompt: "vacaciones" if "Consulta de búsqueda" in prompt else "7").model
    app = fake_app(settings, lambda _: FakeEmbedder(), lambda: FakeChatModel(REPLY), lambda *_: rater)
    kb_id = app.kbs.add("viajes.pdf", CONTENT).kb_id
    app.kbs.pipeline(kb_id)
    monkeypatch.setattr(state, "build_app", lambda _: app)
    get_app.clear()
    yield app
    get_app.clear()


def checked(reply: dict[str, Any]) -> None:
    quality, [source] = reply["quality"], reply["sources"]
    assert {name: type(quality[name]) for name in KINDS} == KINDS
    assert (quality["query_expanded"], quality["reranked"], quality["model"]) == (True, True, "fake")
    assert 0 < quality["evidence"] <= 1
    assert -1 <= quality["average_relevance"] <= 1
    assert (quality["evidence"], quality["seconds"]) == (reply["evidence"], reply["seconds"])
    assert (source["file"], source["page"]) == ("viajes.pdf", 2)


def test_json_endpoint_and_export_have_quality_file_and_page(
    app: App, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [record] = app.kbs.records()
    monkeypatch.setattr(kb_commands, "open_app", lambda _: app)
    path = tmp_path / "viajes.pdf"
    path.write_bytes(CONTENT)
    code, out, _ = command("kb", "ask", str(path), QUESTION, "--json")
    assert code == 0
    checked(json.loads(out))

    body = {"model": f"{record.kb_id}:strict", "messages": user(QUESTION)}
    with running(app) as url:
        asked = httpx.post(
            f"{url}/chat/completions", json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30
        )
    checked(asked.json())

    chat = app.chat
    session = chat.new_session()
    conversation = chat.start(session, record.kb_id, "viajes.pdf")
    assert chat.begin(session, conversation, QUESTION, UserContext()).join(20)
    [turn] = json.loads(chat.export(session, conversation, "json", "es"))["turns"]
    checked(turn)


def test_command_and_page_tell_quality_file_and_page(
    app: App, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kb_commands, "open_app", lambda _: app)
    path = tmp_path / "viajes.pdf"
    path.write_bytes(CONTENT)
    code, out, _ = command("kb", "ask", str(path), QUESTION)
    assert code == 0
    *_, source, quality = out.rstrip().splitlines()
    assert "(viajes.pdf, página 2, " in source
    assert quality.startswith("Calidad: relevancia media ")
    assert "pregunta ampliada: sí · pasajes reordenados: sí · modelo fake · " in quality

    page = open_page("chat")
    page.chat_input[0].set_value(QUESTION).run()
    wait_until(lambda: "chat-stop" not in str(page), 10, "the answer")
    assert not page.exception, page.exception
    shown = texts(page)
    for part in ("relevancia media ", "evidencia ", "pregunta ampliada: sí\n- pasajes reordenados: sí", "fake"):
        assert part in shown
    assert "viajes.pdf, página 2" in texts(open_sources(page))


def test_a_reranker_that_failed_is_not_told_as_applied(app: App) -> None:
    def broken(prompt: str) -> str:
        return "vacaciones" if "Consulta de búsqueda" in prompt else "no sabría decir"

    model = FakeLanguageModel(broken).model
    settings = app.settings.with_changes(data_dir=app.settings.data_dir / "other")
    other = fake_app(settings, lambda _: FakeEmbedder(), lambda: FakeChatModel(REPLY), lambda *_: model)
    kb_id = other.kbs.add("viajes.pdf", CONTENT).kb_id
    other.answering.ask(kb_id, QUESTION)
    [line] = (settings.data_dir / "logs" / "retrieval_metrics.jsonl").read_text("utf-8").splitlines()
    assert (json.loads(line)["reranked"], json.loads(line)["method"]) == (False, "HYBRID")
