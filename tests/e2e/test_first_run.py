"""The guided first run, from an empty folder to the result, as a newcomer clicks through it."""

from __future__ import annotations

import re

import pytest

from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.test_tour import settle, visit

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def press(page, name: str, role: str = "button") -> None:  # type: ignore[no-untyped-def]
    page.get_by_role(role, name=name).click()


def test_sample_question_benchmark_and_result_from_button_to_button(page, server: Server) -> None:  # type: ignore[no-untyped-def]
    """Without a key or a setting; by nine buttons, one link and one key, and with a reload on the way."""
    from playwright.sync_api import expect

    page.context.set_default_timeout(SOON_MS)
    visit(page, server)
    press(page, "Visita guiada")
    press(page, "Cargar el manual de ejemplo")
    press(page, "Abrir el chat con una pregunta")

    page.get_by_text("la pregunta está escrita abajo").wait_for()
    question = page.get_by_role("textbox", name="Pregunte algo sobre el documento")
    expect(question).to_have_value(re.compile("^¿"), timeout=SOON_MS)
    question.press("Enter")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    page.locator("[data-testid='stChatMessage']").last.get_by_role("link").first.click()
    page.locator(".st-key-source-pane mark").first.wait_for()
    press(page, "Seguir con el paso 3")

    press(page, "Medir con sus preguntas")
    under_way = page.locator("[data-testid='stProgress']")
    under_way.or_(page.get_by_role("button", name="Abrir el resultado")).first.wait_for()
    page.reload()
    press(page, "Abrir el resultado")
    page.get_by_text("de 30 puntuadas").first.wait_for()
    settle(page)

    press(page, "Inicio", "link")
    page.get_by_text("Ya conoce el recorrido completo").wait_for()
    page.get_by_text("4 de 4 pasos hechos").wait_for()
    press(page, "Cerrar la visita")
    page.get_by_role("button", name="Visita guiada").wait_for()
    page.reload()
    page.get_by_role("button", name="Visita guiada").wait_for()
    assert page.get_by_text("4 de 4 pasos hechos").count() == 0
