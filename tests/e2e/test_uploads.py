"""A team's documents, in a real browser: two files at once, the state of each, a citation with its file and page."""

from __future__ import annotations

import pytest

from tests.documents.made import docx_with, pdf
from tests.e2e.test_tour import ask, settle, visit

pytestmark = [pytest.mark.e2e]

DOCX = docx_with(
    ("Title", "Guía de acogida"),
    ("Heading 1", "Ayuda de comedor"),
    ("Normal", "La empresa paga once euros por cada día de comedor."),
    ("Heading 1", "Horario de verano"),
    ("Normal", "El horario de verano es de siete horas, de ocho de la mañana a tres de la tarde."),
)
PDF = pdf(
    [
        [("Normas de viaje", 20.0), ("Antes de salir se pide permiso a la persona responsable.", 11.0)],
        [("Gastos de viaje", 16.0), ("El kilómetro en coche propio se paga a veintiséis céntimos.", 11.0)],
    ]
)


SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL"}


@pytest.mark.slow
def test_two_documents_are_uploaded_in_chat_asked_and_cited_with_file_and_page(page, server) -> None:  # type: ignore[no-untyped-def]
    visit(page, server, "Chat")
    files = [
        {"name": "acogida.docx", "mimeType": "application/octet-stream", "buffer": DOCX},
        {"name": "viajes.pdf", "mimeType": "application/pdf", "buffer": PDF},
    ]
    page.locator("[data-testid='stFileUploader'] input[type=file]").first.set_input_files(files=files)
    page.get_by_text("está lista").wait_for()
    settle(page)
    panel = page.locator(".st-key-kb-upload-panel")
    assert "acogida.docx · indexado" in panel.inner_text()
    assert "viajes.pdf · indexado · 2 páginas" in panel.inner_text()
    page.get_by_role("button", name="Cerrar el aviso").click()
    settle(page)

    ask(page, "¿Qué hay sobre el horario de verano?")
    page.get_by_text("El horario de verano es de siete horas").first.wait_for()
    settle(page)
    ask(page, "¿A cuánto se paga el kilómetro en coche propio?")
    page.locator("[class*='st-key-sources-']").nth(1).wait_for()
    settle(page)
    answer = page.locator("[data-testid='stChatMessage']").last
    answer.get_by_role("link").first.click()
    pane = page.locator(".st-key-source-pane")
    pane.get_by_text("viajes.pdf, página 2").wait_for()
    pane.get_by_role("img", name="Página 2 de").wait_for()

    # On Admin too: what the knowledge base holds.
    visit(page, server, "Admin")
    page.get_by_role("button", name="Contenido").click()
    page.get_by_role("radio", name="Fragmentos").click()
    page.get_by_text("acogida > Guía de acogida > Ayuda de comedor").first.wait_for()
    settle(page)


PDF_SAYS = "El kilómetro en coche propio se paga a veintiséis céntimos."
