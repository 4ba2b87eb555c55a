"""From an answer to the page that it cites, in a real browser; and folders that are dropped on the documents."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.settings.model import load_settings
from tests.documents.made import pdf
from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import violations
from tests.e2e.test_tour import ask, settle, visit

pytestmark = [pytest.mark.e2e]
SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "PROVIDER": "demo"}

CIVIL = "La tasa del registro civil es de doce euros con cincuenta céntimos."
TRADE = "La tasa del registro mercantil es de noventa y tres euros por solicitud."
PDF = pdf([[("Portada", 20.0), ("Guía de tasas del año.", 11.0)], [("Tasas", 20.0), (CIVIL, 11.0)]])


def keep(server: Server) -> None:
    app = build_app(load_settings(data_dir=server.data_dir, retrieval_strategy="LEXICAL", provider="demo"))
    files = {"civil.pdf": PDF, "mercantil.md": f"# Mercantil\n\n{TRADE}\n".encode()}
    new = [NewDocument(name, parse_upload(name, content, 1_000_000, 10), content) for name, content in files.items()]
    app.kbs.store.keep(new, 1_000_000, "Tasas")


def shown_marks(page: Any) -> list[dict[str, float]]:
    """The marks on the page that is shown, in fractions of it."""
    found: list[dict[str, float]] = page.evaluate(
        """() => [...document.querySelectorAll(".kbpage span")].map((mark) => {
          const page = mark.parentElement.getBoundingClientRect(), box = mark.getBoundingClientRect();
          return {left: (box.left - page.left) / page.width, top: (box.top - page.top) / page.height};
        })"""
    )
    return found


def test_from_the_answer_to_the_page_that_it_cites_and_to_the_next_source(page: Any, server: Server) -> None:
    keep(server)
    page.set_viewport_size({"width": 1440, "height": 1000})
    visit(page, server, "Chat")
    page.get_by_text("General", exact=True).click()  # which quotes several sentences
    ask(page, "¿De cuántos euros es la tasa del registro civil y la del registro mercantil?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    answer = page.locator("[data-testid='stChatMessage']").last
    civil = answer.locator("p").filter(has_text="doce euros").get_by_role("link").first
    civil.click()
    pane = page.locator(".st-key-source-pane")
    picture = pane.get_by_role("img", name="Página 2 de 2 de civil.pdf. El pasaje citado está resaltado.")
    picture.wait_for()
    settle(page)
    [mark] = shown_marks(page)
    assert mark["left"] == pytest.approx(70 / 595, abs=0.02)
    assert mark["top"] == pytest.approx((842 - 780 + 50 + 27.5 - 11) / 842, abs=0.02)
    # The answer stands to the left of the source, which stays in sight.
    assert answer.bounding_box()["x"] + answer.bounding_box()["width"] < pane.bounding_box()["x"]
    assert violations(page, "source pane") == []

    key = "]" if pane.get_by_role("button", name="Siguiente").is_enabled() else "["
    page.locator("[data-testid='stChatInputTextArea']").blur()
    page.keyboard.press(key)
    pane.locator(".kbtext mark").wait_for()
    assert pane.locator(".kbtext mark").inner_text() == TRADE
    page.keyboard.press("[" if key == "]" else "]")
    picture.wait_for()

    pane.get_by_role("link", name="Ver en el documento").click()
    page.get_by_role("heading", name="Documento", exact=True).wait_for()
    for _ in range(2):  # as it was opened, and again after a reload
        page.get_by_role("img", name="Página 2 de 2 de civil.pdf").wait_for()
        settle(page)
        assert shown_marks(page) == [
            {"left": pytest.approx(mark["left"], abs=0.01), "top": pytest.approx(mark["top"], abs=0.01)}
        ]
        page.reload()
        page.wait_for_selector("h1")

    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, server, "Chat")
    page.locator("[data-testid='stChatMessage']").last.get_by_role("link").first.click()
    pane.wait_for()
    settle(page)
    assert pane.bounding_box()["width"] == pytest.approx(390, abs=2)
    pane.get_by_role("button", name="Cerrar").click()
    pane.wait_for(state="detached")

    # Here it covers the conversation, and the side bar does not cover it.
    page.set_viewport_size({"width": 1000, "height": 844})
    visit(page, server, "Chat")
    page.locator("[data-testid='stChatMessage']").last.get_by_role("link").first.click()
    pane.wait_for()
    settle(page)
    bar = page.get_by_test_id("stSidebar").bounding_box()
    assert bar["width"] > 100
    assert pane.bounding_box()["x"] == pytest.approx(bar["width"], abs=2)
    assert pane.bounding_box()["width"] == pytest.approx(1000 - bar["width"], abs=2)


@pytest.mark.slow
def test_a_dropped_folder_keeps_its_paths(page: Any, server: Server, request: pytest.FixtureRequest) -> None:
    keep(server)
    # Chromium opens no dropped folder below /dev, and temporary files of tests may be in /dev/shm.
    dropped = tempfile.TemporaryDirectory(dir="/tmp")
    request.addfinalizer(dropped.cleanup)
    for name in ("rrhh/vacaciones.md", "rrhh/2026/dietas.md", "rrhh/2026/foto.png", "rrhh/.DS_Store"):
        path = Path(dropped.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n\nEl texto de {name}.\n", "utf-8")
    visit(page, server, "Admin")
    page.get_by_role("button", name="Contenido").click()
    settle(page)
    box = page.locator("[data-testid='stFileUploaderDropzone']").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    at = {"x": place["x"] + place["width"] / 2, "y": place["y"] + place["height"] / 2}
    data = {"items": [], "files": [str(Path(dropped.name) / "rrhh")], "dragOperationsMask": 1}
    browser = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.send("Input.dispatchDragEvent", {"type": kind, "data": data, **at})
    page.get_by_text("Añadidos: 2. Sustituidos: 0.").wait_for()
    settle(page)
    panel = page.locator(".st-key-kb-upload-panel").inner_text()
    assert "rrhh/vacaciones.md · añadido" in panel and "rrhh/2026/dietas.md · añadido" in panel
    assert "no se leen, por su formato: 1 (rrhh/2026/foto.png)" in panel
