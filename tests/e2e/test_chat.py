"""The chat in a real browser: an answer that is being written outlives clicks and reloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.slow_model import OPEN
from tests.e2e.test_tour import DOCUMENT, ask, settle, visit

pytestmark = [pytest.mark.e2e]

FULL = "Cada lector puede llevarse hasta cuatro libros [1]. El director regala un viaje a Canarias"
QUESTION = "¿Cuántos libros puede llevarse cada lector?"


@pytest.fixture(scope="module")
def slow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all: each test is a session of its own, with its own conversations."""
    data_dir = tmp_path_factory.mktemp("chat")
    settings = load_settings(data_dir=data_dir)
    KbStore(settings.kb_dir).add("biblioteca.md", DOCUMENT.encode(), settings.kb_max_chars, settings.kb_max_upload_mb)
    running = Server(data_dir, "-m", "tests.e2e.slow_model", RETRIEVAL_STRATEGY="LEXICAL")
    running.start()
    yield running
    running.kill()


@pytest.fixture
def chat(page, slow_server):  # type: ignore[no-untyped-def]
    visit(page, slow_server, "Chat")
    return page


def written(page):  # type: ignore[no-untyped-def]
    """The paragraph that is being written."""
    return page.locator("[data-testid='stChatMessage'] p").filter(has_text="Cada lector").last


def records(server: Server) -> list[dict[str, object]]:
    """Of the newest conversation."""
    path = max((server.data_dir / "conversations").rglob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_a_reload_in_mid_answer_finds_it_again_and_it_is_written_once(chat, slow_server) -> None:  # type: ignore[no-untyped-def]
    """What was found is shown first; then the text grows; the end marks what no source supports."""
    ask(chat, QUESTION)
    chat.get_by_text("Pasajes encontrados").wait_for()
    written(chat).wait_for()
    assert chat.get_by_text("Canarias").count() == 0
    chat.reload()
    written(chat).wait_for()
    chat.locator("[class*='st-key-sources-']").wait_for()
    settle(chat)
    answer = chat.locator("[data-testid='stChatMessage']").last
    assert "viaje a Canarias" in answer.inner_text()
    assert "[7]" not in answer.inner_text()
    assert (
        chat.get_by_text("La frase resaltada no tiene respaldo").count()
        + chat.get_by_text("frases resaltadas no tienen respaldo").count()
    )
    answer.get_by_role("button", name="Detalles").click()
    chat.get_by_text("stand-in/model").wait_for()
    kinds = [record["type"] for record in records(slow_server)]
    assert (kinds.count("question"), kinds.count("answer")) == (1, 1)
    assert kinds.count("text") > 3


@pytest.mark.slow
def test_a_click_in_mid_answer_does_not_stop_it_and_the_stop_button_does(chat, slow_server) -> None:  # type: ignore[no-untyped-def]
    ask(chat, QUESTION)
    written(chat).wait_for()
    chat.get_by_text("General", exact=True).click()
    chat.get_by_text("viaje a Canarias").wait_for()
    chat.locator("[class*='st-key-sources-']").wait_for()
    settle(chat)

    ask(chat, "¿Cuántos libros puede llevarse un lector?")
    chat.get_by_role("button", name="Detener").wait_for()
    written(chat).wait_for()
    chat.keyboard.press("Escape")  # clicks the button
    chat.get_by_text("Respuesta detenida antes de terminar").wait_for()
    settle(chat)
    assert chat.get_by_role("button", name="Detener").count() == 0
    last = records(slow_server)[-1]
    assert last["answer"]["finish_reason"] == "cancelled"  # type: ignore[index]


@pytest.mark.slow
def test_general_mode_and_a_provider_that_fails_are_told(chat, slow_server) -> None:  # type: ignore[no-untyped-def]
    chat.get_by_text("General", exact=True).click()
    settle(chat)
    ask(chat, "¿Qué altura tiene la torre Eiffel?")
    chat.get_by_text("Esta respuesta no procede de la base").wait_for()
    settle(chat)
    assert chat.get_by_text(OPEN).count() == 1
    assert chat.locator("[class*='st-key-sources-']").count() == 0
    ask(chat, "Con avería: ¿cuánto cuesta cada día de retraso por libro?")
    chat.get_by_text("en su lugar contesta «demo»").wait_for()
    chat.get_by_text("quince céntimos").first.wait_for()
    settle(chat)


@pytest.mark.slow
def test_a_bad_answer_becomes_a_question_and_the_conversation_can_be_taken_along(chat, slow_server, tmp_path) -> None:  # type: ignore[no-untyped-def]
    ask(chat, QUESTION)
    chat.locator("[class*='st-key-sources-']").wait_for()
    settle(chat)
    chat.locator("[class*='st-key-thumbs-'] button").last.click()
    chat.get_by_role("button", name="Indicar qué falla").click()
    chat.get_by_text("Es incorrecta").click()
    chat.get_by_label("¿Qué falla en la respuesta?").fill("El viaje es inventado.")
    chat.get_by_text("Añadir a las preguntas de esta base").click()
    chat.get_by_test_id("stPopoverBody").get_by_role("button", name="Enviar").click()
    chat.get_by_text("Guardada entre las preguntas").wait_for()
    [questions] = (slow_server.data_dir / "kb").glob("*/questions.jsonl")
    entry = json.loads(questions.read_text("utf-8"))
    assert (entry["question"], entry["note"]) == (QUESTION, "El viaje es inventado.")
    assert records(slow_server)[-1]["reasons"] == ["wrong"]
    chat.keyboard.press("Escape")
    chat.get_by_role("button", name=f"Opciones de «{QUESTION}»").click()
    chat.get_by_role("menuitem", name="Exportar").click()
    with chat.expect_download() as download:
        chat.get_by_role("button", name="Exportar en Markdown").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert f"## {QUESTION}" in text
    assert "El viaje es inventado." in text


@pytest.mark.slow
def test_two_browsers_have_conversations_of_their_own(chat, browser, slow_server) -> None:  # type: ignore[no-untyped-def]
    ask(chat, QUESTION)
    chat.locator("[class*='st-key-sources-']").wait_for()
    other = browser.new_context().new_page()
    visit(other, slow_server, "Chat")
    assert other.get_by_text("Cada lector puede").count() == 0
    other.close()
