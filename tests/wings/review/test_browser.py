"""Twenty answers are labelled with the keyboard; the promise appears, and goes when a document changes."""

from __future__ import annotations

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.test_tour import settle, visit
from tests.e2e.visitors import become
from tests.moving import document

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "PROVIDER": "demo"}
SESSION = "0" * 31 + "e"
TOOLS = (
    "azada rastrillo carretilla manguera tijera podadora desbrozadora motosierra escalera guante "
    "regadera pala horca sierra hacha cubo cepillo aspersor bomba tractor"
).split()


def test_twenty_answers_are_labelled_by_keyboard_and_the_promise_comes_and_goes(page, server) -> None:  # type: ignore[no-untyped-def]
    app = build_app(load_settings(data_dir=server.data_dir, retrieval_strategy="LEXICAL", provider="demo"))
    text = "\n\n".join(
        f"# Uso de {tool}\n\nLa revisión de la {tool} cuesta {n + 20} euros." for n, tool in enumerate(TOOLS)
    )
    kb = app.kbs.add("taller.md", text.encode())
    conversation = app.chat.start(SESSION, kb.kb_id, kb.kb_name)
    for tool in TOOLS:
        question = f"¿Cuánto cuesta la revisión de la {tool}?"
        assert app.chat.begin(SESSION, conversation, question, UserContext()).join(20)

    become(page, server, SESSION)
    visit(page, server, "Evaluar_mi_KB")
    page.get_by_text("3. Revisar el chat").click()
    name = page.get_by_role("textbox", name="Su nombre")
    name.fill("Ana")  # its first letter is a shortcut, which must not act while somebody types
    name.press("Enter")
    page.get_by_text("Por revisar: 20 · Etiquetadas: 0").wait_for()
    settle(page)
    for done in range(1, 21):
        page.keyboard.press("a")
        page.get_by_text(f"Por revisar: {20 - done} · Etiquetadas: {done}").wait_for()
        settle(page)
        if done == 3:  # a mistake, taken back
            page.keyboard.press("z")
            page.get_by_text("Por revisar: 18 · Etiquetadas: 2").wait_for()
            settle(page)
            page.keyboard.press("1")
            page.locator(".st-key-review-passages").get_by_text("radio_button_checked").wait_for()
            settle(page)
            page.keyboard.press("a")
            page.get_by_text("Por revisar: 17 · Etiquetadas: 3").wait_for()
            settle(page)
    page.get_by_text("No queda ninguna respuesta por revisar").wait_for()

    settle(page)
    page.get_by_role("button", name="Evaluar (20)").click()
    page.get_by_role("tab", name="Una promesa sobre las respuestas equivocadas").click()
    settle(page)
    level = page.locator(".st-key-mykb_promise_level").get_by_role("slider")
    level.focus()
    for _ in range(2):
        level.press("ArrowRight")
    page.locator(".st-key-mykb_promise_level").get_by_text("20 %").first.wait_for()
    settle(page)
    page.get_by_role("button", name="Calcular la promesa").click()
    page.get_by_text("como máximo 20 % serán equivocadas").wait_for()

    app.kb_changes.change(kb.kb_id, new=[document("taller.md", text.replace("20 euros", "21 euros"))])
    page.reload()
    page.get_by_text("2. Resultados").click()
    page.get_by_role("tab", name="Una promesa sobre las respuestas equivocadas").click()
    page.get_by_text("queda anulada").wait_for()
    assert page.get_by_text("La base ha cambiado.").is_visible()
    assert not page.get_by_text("como máximo 20 % serán equivocadas").is_visible()
