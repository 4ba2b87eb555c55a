"""A knowledge base is evaluated in a real browser: questions proposed and asked, the threshold moved, one edited."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_tour import settle, visit

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

REWORDED = "¿En qué libro se apunta cada visita?"


SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL"}


def test_questions_are_proposed_and_asked_the_threshold_is_moved_and_taken_and_one_is_edited(page, server) -> None:  # type: ignore[no-untyped-def]
    visit(page, server, "Evaluar_mi_KB")
    page.locator(".st-key-kb_sample button").click()
    page.get_by_text("Preguntas nuevas").click()
    page.locator(".st-key-mykb_propose button").click()
    page.locator(".st-key-mykb_run").wait_for()
    settle(page)

    page.locator(".st-key-mykb_run button").click()
    page.get_by_text("Cuánta evidencia exigir").click()
    page.locator("[class*='st-key-picture-evidence']").locator(
        "[data-testid='stVegaLiteChart'] canvas, [data-testid='stVegaLiteChart'] svg"
    ).first.wait_for()
    settle(page)
    page.reload()
    page.get_by_text("2. Resultados").click()
    page.get_by_text("Cuánta evidencia exigir").click()
    settle(page)

    def unanswerable() -> int:
        tile = page.locator("[data-testid='stMetric']").filter(has_text="Sin respuesta y con evidencia")
        return int(tile.locator("[data-testid='stMetricValue']").inner_text().split()[0])

    before = unanswerable()
    page.get_by_role("radio", name="Todas").click()  # the filter of the table
    settle(page)
    slider = page.get_by_role("slider", name="Umbral de evidencia")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Usar 0,00 en el chat").wait_for()
    settle(page)
    assert unanswerable() == 100 > before
    assert page.get_by_text("Se muestran 40 de 40 preguntas.").is_visible()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Usar 0,03 en el chat").wait_for()
    settle(page)
    page.get_by_role("button", name="Usar 0,03 en el chat").click()
    page.get_by_text("Ahora el chat usa 0,03").wait_for()
    settle(page)
    assert json.loads((server.data_dir / "app_settings.json").read_text("utf-8"))["settings"]["kb_min_evidence"] == 0.03

    visit(page, server, "Evaluar_mi_KB")
    page.locator(".st-key-mykb_run").wait_for()
    settle(page)
    # A cell of the table: chosen with the mouse, written over with the keyboard.
    table = page.locator("[data-testid='stDataFrame']").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 320, "y": 36 + 17})
    page.keyboard.press("Enter")
    page.locator("#portal textarea").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type(REWORDED, delay=15)
    page.keyboard.press("Enter")
    page.get_by_text("Hay cambios sin guardar").wait_for()
    settle(page)
    page.locator(".st-key-mykb_save button").click()
    page.get_by_text("Hay cambios sin guardar").wait_for(state="detached")
    settle(page)
    [path] = server.data_dir.glob("kb/*/evaluation/sets/*.json")
    saved = json.loads(path.read_text("utf-8"))
    assert saved["questions"][0]["question"]["question"] == REWORDED
