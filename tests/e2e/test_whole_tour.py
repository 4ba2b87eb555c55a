"""The whole tour in one go: own document, question, two runs, their comparison, back to the chat, own questions."""

from __future__ import annotations

import pytest

from tests.browser import SOON_MS
from tests.e2e.test_compare_runs import choose
from tests.e2e.test_tour import DOCUMENT, ask, settle, upload, visit

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(600),  # two runs and a set of questions, beside other work
]


SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "GENERATION_ENABLED": "false"}


def go(page, name: str) -> None:  # type: ignore[no-untyped-def]
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    page.get_by_role("heading", level=1, name=name).wait_for()
    settle(page)


def run_with(page, strategy: str) -> None:  # type: ignore[no-untyped-def]
    go(page, "Administración")
    page.get_by_role("tab", name="Ejecuciones").click()
    panel = page.get_by_role("tabpanel", name="Ejecuciones")
    choose(page, "Estrategia", strategy)
    panel.get_by_role("button", name="Lanzar la ejecución").click()
    page.get_by_text(f"Terminada: valle_multihop · {strategy}").first.wait_for(timeout=90_000)
    settle(page)
    page.get_by_role("button", name="Ver el resultado").first.click()
    page.get_by_role("tab", name="Curvas").wait_for()
    settle(page)


def test_from_an_own_document_to_measured_questions_of_ones_own(page, server) -> None:  # type: ignore[no-untyped-def]
    page.context.set_default_timeout(SOON_MS)
    visit(page, server)
    go(page, "Chat")
    upload(page, "biblioteca.md", DOCUMENT.encode())
    page.get_by_text("está lista").wait_for()
    settle(page)
    ask(page, "¿Cuánto cuesta cada día de retraso?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    page.locator("[data-testid='stChatMessage']").last.get_by_role("link").first.click()
    mark = page.locator(".st-key-source-pane mark").first
    mark.wait_for()
    assert mark.inner_text() == "Cada día de retraso cuesta quince céntimos por libro."

    run_with(page, "solo palabras")
    run_with(page, "palabras y enlaces entre documentos")
    page.get_by_text("40 de 40 puntuadas").first.wait_for()
    page.get_by_role("radio", name="Comparación").click()
    page.get_by_role("combobox", name="Ejecución de partida").wait_for()
    settle(page)
    choose(page, "Comparada con", "solo palabras")
    page.get_by_text("Diferencias de configuración").wait_for()
    settle(page)
    compared = page.url
    page.goto(compared)
    page.get_by_text("Diferencias de configuración").wait_for()
    page.get_by_role("radio", name="Clasificación").click()
    page.get_by_text("Puesto").first.wait_for(state="attached")
    settle(page)

    page.get_by_role("radio", name="Una ejecución").click()
    page.get_by_role("tab", name="Configuración completa").click()
    page.get_by_role("button", name="Usar esta configuración en el chat").click()
    page.get_by_text("El chat busca con la configuración de la ejecución").wait_for()
    ask(page, "¿Cuántos libros puede llevarse cada lector?")
    page.get_by_text("hasta cuatro libros").first.wait_for()
    settle(page)

    go(page, "Evaluar mi base")
    page.get_by_text("Preguntas nuevas").click()
    settle(page)  # a click on what the page is about to draw anew is lost
    page.locator(".st-key-mykb_propose button").click()
    page.locator(".st-key-mykb_run").wait_for()
    settle(page)
    page.locator(".st-key-mykb_run button").click()
    page.get_by_text("Cuánta evidencia exigir").wait_for()
    settle(page)

    page.get_by_role("combobox").first.click()
    page.get_by_role("option", name="English").click()
    page.get_by_role("link", name="Admin").wait_for()
    settle(page)
    page.get_by_role("link", name="Home", exact=True).click()
    page.get_by_text("Latest runs", exact=True).first.wait_for()
    settle(page)
    assert page.locator("[data-testid='stAlertContentError']").count() == 0
