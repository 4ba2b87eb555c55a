"""A day in the life of a knowledge base, in a real browser: 30 documents, add, change, remove, stage, publish, restore.

Each step ends with what a visitor sees and with what the folder holds. LIVING_KB_PICTURES names a folder for pictures.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.test_accessibility import violations
from tests.e2e.test_tour import ask, settle, visit

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "PROVIDER": "demo"}
WIDTHS = (1440, 1024, 390)


def text_of(number: int, says: str = "") -> str:
    says = says or f"El trámite {number} se pide en la ventanilla {number + 100} y cuesta {number + 3} euros."
    return f"# Trámite {number}\n\n{says}\n\nSe resuelve en {number + 5} días laborables.\n"


def file(name: str, text: str) -> dict[str, object]:
    return {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}


class Day:
    """Counts the steps, takes their pictures, and reads what the server's folder holds."""

    def __init__(self, page, server) -> None:  # type: ignore[no-untyped-def]
        self.page, self.steps = page, 0
        self._folder = Path(os.environ["LIVING_KB_PICTURES"]) if "LIVING_KB_PICTURES" in os.environ else None
        self.app = build_app(load_settings(data_dir=server.data_dir, retrieval_strategy="LEXICAL", provider="demo"))

    @property
    def kb_id(self) -> str:
        return self.app.kbs.records()[0].kb_id

    def paths(self) -> list[str]:
        return [one.path for one in self.app.kb_changes.documents(self.kb_id)]

    def done(self, name: str, *widths: int) -> None:
        """A step is done: no page error, nothing that is wider than the window."""
        settle(self.page)
        self.steps += 1
        for width in widths or (1440,):
            self.page.set_viewport_size({"width": width, "height": 1000})
            settle(self.page)
            wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{name} at {width}: {wide} pixels too wide"
            if self._folder:
                path = self._folder / f"{self.steps:02}-{name}-{width}.png"
                self.page.screenshot(path=str(path), full_page=True)
        self.page.set_viewport_size({"width": 1440, "height": 1000})
        settle(self.page)

    def press(self, name: str) -> None:
        """Press the first button in sight whose text begins so, behind its icon; the arrow of a list has no text."""
        named = re.compile(rf"(^|\w\s){re.escape(name)}")
        texts = self.page.get_by_role("button", name=named).filter(has_text=name)
        texts.locator("visible=true").first.click()
        settle(self.page)

    def pick(self, path: str) -> None:
        box = self.page.get_by_role("checkbox", name=f"Elegir {path}", exact=True)
        box.locator("xpath=ancestor::label").click()
        settle(self.page)

    def view(self, name: str) -> None:
        self.page.get_by_role("radio", name=name, exact=True).locator("visible=true").first.click()
        settle(self.page)

    def drop(self, *files: dict[str, object]) -> None:
        box = self.page.locator("[data-testid='stFileUploader'] input[type=file]").first
        box.set_input_files(files=list(files))


def test_a_day_in_the_life_of_a_knowledge_base(page, server) -> None:  # type: ignore[no-untyped-def]
    page.set_viewport_size({"width": 1440, "height": 1000})
    visit(page, server, "Admin")
    first = [file(f"tramite-{number:02}.md", text_of(number)) for number in range(30)]
    page.locator("[data-testid='stFileUploader'] input[type=file]").first.set_input_files(files=first)
    page.get_by_text("está lista").wait_for()
    day = Day(page, server)
    assert len(day.paths()) == 30
    day.press("Cerrar el aviso")
    day.press("Contenido")
    page.get_by_text("Se muestran 30 de 30 documentos.").wait_for()
    day.done("thirty", *WIDTHS)

    # A new file, another text under a path that is there, the same again, and one that cannot be read.
    changed = text_of(7, "El trámite 7 se pide ahora por internet y es gratuito.")
    day.drop(
        file("nuevo.md", text_of(77)), file("tramite-07.md", changed), first[3], file("roto.pdf", "%PDF-1.4 x")
    )  # fmt: skip
    page.get_by_text("Añadidos: 1. Sustituidos: 1.").wait_for()
    settle(page)
    panel = page.locator(".st-key-kb-upload-panel").inner_text()
    for said in ("nuevo.md · añadido", "tramite-07.md · sustituido", "tramite-03.md · igual", "roto.pdf"):
        assert said in panel, panel
    assert len(day.paths()) == 31
    day.done("added", *WIDTHS)
    day.press("Cerrar el aviso")

    # The chat answers from the new text.
    visit(page, server, "Chat")
    ask(page, "¿El trámite 7 se pide ahora por internet?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    assert "por internet y es gratuito" in page.locator("[data-testid='stChatMessage']").last.inner_text()
    day.done("asked")
    visit(page, server, "Admin")
    day.press("Contenido")

    day.pick("tramite-00.md")
    day.pick("tramite-01.md")
    day.press("Quitar")
    day.done("remove", 1440, 390)
    day.press("Aplicar ahora")
    page.get_by_text("Hecho: la base está en la versión 3.").wait_for()
    assert not {"tramite-00.md", "tramite-01.md"} & set(day.paths())
    day.done("removed")

    day.pick("tramite-02.md")
    day.pick("tramite-03.md")
    day.press("Mover")
    page.get_by_role("textbox", name="Carpeta de destino", exact=True).fill("archivo/2025")
    page.keyboard.press("Enter")
    settle(page)
    day.press("Aplicar ahora")
    page.get_by_text("Hecho: la base está en la versión 4.").wait_for()
    assert {"archivo/2025/tramite-02.md", "archivo/2025/tramite-03.md"} <= set(day.paths())
    day.done("moved")

    # A draft: the chat keeps the version before until it is published.
    page.get_by_text("Guardar como borrador", exact=True).first.click()
    settle(page)
    day.drop(file("tramite-09.md", text_of(9, "El trámite 9 queda suprimido desde enero.")))
    page.get_by_text("El borrador de").wait_for()
    settle(page)
    page.get_by_text("Qué cambia", exact=True).click()
    page.locator(".kbdiff ins").first.wait_for()
    assert "suprimido" in page.locator(".kbdiff p.came").first.inner_text()
    assert "ventanilla 109" in page.locator(".kbdiff p.went").first.inner_text()
    assert len(day.app.kb_changes.history(day.kb_id)) == 4
    day.done("staged", *WIDTHS)
    assert violations(page, "the draft") == []
    day.press("Publicar")
    page.get_by_text("Hecho: la base está en la versión 5.").wait_for()
    assert day.app.kb_changes.staged(day.kb_id) is None
    day.done("published")

    # One document: its text, original, chunks and data.
    page.get_by_role("textbox", name="Buscar documentos", exact=True).fill("tramite-09")
    page.keyboard.press("Enter")
    page.get_by_text("Se muestra 1 de 29 documentos.").wait_for()
    day.press("Abrir")
    page.get_by_text("queda suprimido desde enero").wait_for()
    day.done("document", *WIDTHS)
    day.view("Original")
    with page.expect_download() as download:
        day.press("Descargar el original")
    assert "suprimido" in Path(download.value.path()).read_text("utf-8")
    day.view("Datos")
    page.get_by_role("textbox", name="Título", exact=True).fill("Trámite suprimido")
    page.keyboard.press("Tab")
    settle(page)
    day.done("details", 1440, 390)
    day.press("Aplicar ahora")
    page.get_by_text("Hecho: la base está en la versión 6.").wait_for()
    day.done("described")
    assert violations(page, "a document") == []

    day.view("Historial")
    page.get_by_text("Ver cambios", exact=True).nth(1).click()
    page.locator(".kbdiff p.came").first.wait_for()
    day.done("history", *WIDTHS)
    page.get_by_text("Lado a lado", exact=True).last.click()
    page.locator(".kbdiff.two").first.wait_for()
    day.done("side-by-side", *WIDTHS)
    assert violations(page, "the history") == []
    page.locator(".stPopover button").filter(has_text="Restaurar").last.click()
    settle(page)
    day.press("Restaurar la versión 1")
    page.get_by_text("Hecho: la base está en la versión 7.").wait_for()
    assert len(day.paths()) == 30
    assert "tramite-00.md" in day.paths()
    day.done("restored", *WIDTHS)

    # The answer of the morning still opens what it cited then, and says that this text has changed.
    visit(page, server, "Chat")
    page.locator("[class*='st-key-sources-']").first.wait_for()
    settle(page)
    page.locator("[class*='st-key-sources-']").first.get_by_role("button").click()
    cited = page.locator(".st-key-source-pane")
    cited.locator("mark").first.wait_for()
    assert "por internet y es gratuito" in cited.locator(".kbtext").inner_text()
    cited.get_by_text("Este texto ha cambiado desde la respuesta").click()
    assert "ventanilla 107" in cited.locator(".now .passage").inner_text()
    day.done("old-answer", *WIDTHS)
    assert [step.entry.what for step in day.app.kb_changes.history(day.kb_id)] == [
        "restored", "changed", "published", "changed", "changed", "changed", "created"
    ]  # fmt: skip
    print(f"steps: {day.steps}, versions: 7")
