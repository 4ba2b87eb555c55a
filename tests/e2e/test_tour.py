"""What a newcomer does, in a real browser against a real server."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout

pytestmark = [pytest.mark.e2e]

DOCUMENT = """# Reglamento de la biblioteca

## Préstamos

Cada lector puede llevarse hasta cuatro libros durante veintiún días. La renovación se pide en el mostrador.

## Horario

La sala de lectura abre de lunes a sábado a las nueve de la mañana y cierra a las ocho de la tarde.

## Multas

Cada día de retraso cuesta quince céntimos por libro. La multa máxima es de diez euros.
"""


PROGRESS = re.compile(r"(Calculando vectores|Buscando|Generando respuestas|Comparando respuestas).*: \d+ de \d+")
"""The phases of a run that take long enough to be read."""


_QUIET = """() => document.querySelector("[data-testid='stApp'][data-test-script-state='notRunning']")
    && !document.querySelector("[data-stale='true']")"""


def settle(page) -> None:  # type: ignore[no-untyped-def]
    """Wait until the script has run and what it replaces is gone; no page may show an exception."""
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']")
    page.wait_for_timeout(300)
    with suppress(PlaywrightTimeout):  # a page that shows a job's progress is never quiet for long
        page.wait_for_function(_QUIET, timeout=5_000)
    assert page.locator("[data-testid='stException'], [class*='st-key-unexpected-error']").count() == 0
    assert page.get_by_text("Page not found").count() == 0


def choose(page, name: str, words: str) -> None:  # type: ignore[no-untyped-def]
    """Take the first option with these words; the list closes as long as charts above it still move the page."""
    box = page.get_by_role("combobox", name=name)
    option = page.get_by_role("option").filter(has_text=words).first
    for _ in range(5):
        box.scroll_into_view_if_needed()
        box.click()
        with suppress(PlaywrightTimeout):
            option.click(timeout=3_000)
            break
        page.keyboard.press("Escape")
    if page.get_by_role("listbox").count():  # of several it stays open, and hides the page from readers
        page.keyboard.press("Escape")
    settle(page)


def visit(page, server, path: str = "") -> None:  # type: ignore[no-untyped-def]
    page.goto(f"{server.url}/{path}")
    page.wait_for_selector("h1")
    settle(page)


def upload(page, name: str, content: bytes) -> None:  # type: ignore[no-untyped-def]
    file = {"name": name, "mimeType": "text/plain", "buffer": content}
    page.locator("[data-testid='stFileUploader'] input[type=file]").first.set_input_files(files=[file])


def ask(page, question: str) -> None:  # type: ignore[no-untyped-def]
    page.locator("[data-testid='stChatInput'] textarea").fill(question)
    page.keyboard.press("Enter")


def launch(page, server) -> None:  # type: ignore[no-untyped-def]
    visit(page, server, "Admin")
    page.get_by_role("tab", name="Ejecuciones").click()
    page.get_by_role("button", name="Lanzar la ejecución").click()


def test_upload_ask_and_open_the_highlighted_source(page, server) -> None:  # type: ignore[no-untyped-def]
    """The answer's sentence is the one that is highlighted in its passage; KB and answers survive a restart."""
    visit(page, server, "Admin")
    upload(page, "biblioteca.md", DOCUMENT.encode("latin-1"))
    page.get_by_text("«biblioteca.md» está lista").wait_for()

    visit(page, server, "Chat")
    ask(page, "¿Cuánto cuesta cada día de retraso?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    page.get_by_role("link", name="[1]").click()  # the citation in the text opens its source beside it
    mark = page.locator(".st-key-source-pane mark").first
    mark.wait_for()
    assert mark.inner_text() == "Cada día de retraso cuesta quince céntimos por libro."
    assert page.get_by_text("demo · citas literales").is_visible()

    ask(page, "¿Quién ganó la carrera ciclista de Flandes?")
    page.get_by_text("No encuentro en la base de conocimiento").wait_for()
    settle(page)
    assert page.locator("[class*='st-key-sources-']").count() == 1

    server.kill()
    server.start()
    visit(page, server, "Chat")
    assert page.get_by_role("combobox", name="Base", exact=True).input_value() == "biblioteca.md"
    ask(page, "¿Cuántos libros puedo llevarme?")
    page.get_by_text("hasta cuatro libros").first.wait_for()


@pytest.mark.slow
def test_launch_progress_second_session_and_result(page, browser, server) -> None:  # type: ignore[no-untyped-def]
    """A run shows its progress, also to a second session and after a reload, and its metrics in Evaluación."""
    other = browser.new_context().new_page()
    visit(other, server, "Admin")  # the first visit is slow; the run might end meanwhile
    launch(page, server)
    page.get_by_text(PROGRESS).first.wait_for()
    visit(other, server, "Admin")
    other.get_by_role("tab", name="Ejecuciones").click()
    other.get_by_text(PROGRESS).first.wait_for()  # the run may be in its next phase by now
    other.close()
    page.reload()
    page.get_by_role("tab", name="Ejecuciones").click()
    page.get_by_text("Terminada: valle_multihop").first.wait_for(timeout=90_000)

    page.get_by_role("button", name="Ver el resultado").click()
    page.get_by_role("tab", name="Curvas").wait_for()
    settle(page)
    tiles = page.locator("[data-testid='stMetric']").all_inner_texts()
    assert any(re.match(r"Lo primero, correcto\s+(?:3\d|40) de 40", text) for text in tiles), tiles
    # Curves, questions and answers as pictures, a distribution, where questions were lost, where the time went.
    for tab in page.get_by_role("tab").all():  # drawn when it is first open
        tab.click()
        settle(page)
    assert page.locator("[data-testid='stVegaLiteChart']").count() == 5
    page.get_by_role("radio", name="Todas (").click()
    settle(page)
    choose(page, "Pregunta que se muestra", "¿")
    assert page.get_by_text("Recuperados").is_visible()
    assert page.get_by_text("Correctos", exact=True).is_visible()

    visit(page, server)
    assert page.get_by_text("palabras, vectores y enlaces ·").is_visible()


@pytest.mark.slow
def test_killed_run_is_offered_again_and_each_query_is_done_once(page, server) -> None:  # type: ignore[no-untyped-def]
    """After kill -9 in mid-run the next start offers to resume, and the resumed run is whole."""
    launch(page, server)
    page.get_by_text("Calculando vectores").first.wait_for()
    server.kill()
    server.start()
    visit(page, server, "Admin")
    page.get_by_role("tab", name="Ejecuciones").click()
    page.get_by_text("Sin terminar").first.wait_for()
    page.get_by_role("button", name="Reanudar").click()
    page.get_by_text("Terminada: valle_multihop").first.wait_for(timeout=90_000)
    records = next((server.data_dir / "results").glob("*/records.jsonl")).read_text("utf-8").splitlines()
    seen = Counter((row["phase"], row["query_id"]) for row in map(json.loads, records))
    assert Counter(phase for phase, _ in seen) == {"retrieve": 40, "generate": 40}
    assert set(seen.values()) == {1}


@pytest.mark.slow
def test_stop_and_resume_from_the_page(page, server) -> None:  # type: ignore[no-untyped-def]
    """A run that is stopped stays and goes on where it was."""
    launch(page, server)
    page.get_by_role("button", name="Detener").click()
    page.get_by_text("Sin terminar").first.wait_for()
    page.get_by_role("button", name="Reanudar").click()
    page.get_by_text("Terminada: valle_multihop").first.wait_for(timeout=90_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vacio.txt", b" \n ", "no tiene texto"),
        ("foto.md", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8, "no es un archivo de texto"),
        ("enorme.txt", b"palabra " * 7_500_000, "ocupa 60.0 MB y el máximo es 50 MB"),
    ],
    ids=["empty", "binary", "60 MB"],
)
def test_bad_upload_is_told_and_nothing_is_lost(page, server, name, content, message) -> None:  # type: ignore[no-untyped-def]
    """The message says what to do; the knowledge base that was there stays in use."""
    visit(page, server, "Admin")
    upload(page, "biblioteca.md", DOCUMENT.encode())
    page.get_by_text("«biblioteca.md» está lista").wait_for()
    path = Path(server.data_dir) / name  # from disk: the browser driver takes at most 50 MB in memory
    path.write_bytes(content)
    page.locator("[data-testid='stFileUploader'] input[type=file]").first.set_input_files(path)
    page.get_by_text(message).wait_for()
    settle(page)
    documents = page.get_by_role("tabpanel", name="Bases")
    assert documents.get_by_text("en uso").count() == 1
    assert page.get_by_text("biblioteca.md", exact=False).first.is_visible()


@pytest.mark.slow
def test_every_page_in_both_languages_without_an_error(page, server) -> None:  # type: ignore[no-untyped-def]
    """No error box, no missing text; the language survives a change of page and a reload."""
    # A bookmark is the first thing that the server is asked for: the frame must be there all the same.
    expected = {"Evaluacion": "ejecuciones", "": "Visita guiada", "Chat": "hace falta una base", "Admin": "ejemplo"}
    for path, text in expected.items():
        visit(page, server, path)
        page.get_by_text(text).first.wait_for()
        assert page.locator("[data-testid='stAlertContentError']").count() == 0
        assert page.get_by_role("link", name="Administración").is_visible()
    visit(page, server)
    page.get_by_role("combobox").first.click()
    page.get_by_role("option", name="English").click()
    page.get_by_role("button", name="Guided tour").wait_for()
    page.get_by_role("link", name="Admin").click()
    page.get_by_role("heading", name="Admin").wait_for()  # Inicio has such a button, too
    page.get_by_role("button", name="Load the sample", exact=True).wait_for()
    page.reload()
    page.get_by_role("button", name="Load the sample").wait_for()
    settle(page)
