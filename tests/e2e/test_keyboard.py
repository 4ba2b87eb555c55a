"""From opening the app to a setting in Admin with a keyboard alone; what has the focus is always seen and named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.keys import Keyboard
from tests.e2e.test_tour import settle

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.in_order]

BOX = "Pregunte algo sobre el documento"
CIVIL = "La tasa del registro civil es de doce euros con cincuenta céntimos."
TRADE = "La tasa del registro mercantil es de noventa y tres euros por solicitud."
DOCUMENT = f"""# Tasas

## Registro civil

{CIVIL} {"El registro civil abre por las mañanas y atiende con cita previa en la planta baja del edificio. " * 12}

## Registro mercantil

{TRADE} {"El registro mercantil recibe solicitudes por internet y las resuelve por orden de llegada. " * 12}
"""
QUESTION = "¿De cuántos euros es la tasa del registro civil y la del registro mercantil?"
OWN = "¿De cuánto es la tasa del registro civil?\n¿Cuánto cuesta una solicitud al registro mercantil?\n"


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all, and one visitor."""
    running = Server(tmp_path_factory.mktemp("keyboard"), RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="module")
def keys(browser: Any, walked: Server) -> Iterator[Keyboard]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(SOON_MS)
    page = context.new_page()
    page.goto(walked.url)
    page.wait_for_selector("h1")
    settle(page)
    yield Keyboard(page)
    context.close()


@pytest.fixture
def seen_and_named(keys: Keyboard) -> Iterator[Keyboard]:
    """The keyboard of a test that also fails if anything was unseen or without a name when it had the focus."""
    yield keys
    wrong = list(keys.wrong)
    keys.wrong.clear()
    assert wrong == []


def box_has_focus(keys: Keyboard) -> None:
    keys.page.locator("[data-testid='stChatInputTextArea']:focus").wait_for()
    settle(keys.page)
    assert keys.focus().name == BOX


def test_past_the_navigation_to_the_chat_and_a_document_of_ones_own(seen_and_named: Keyboard) -> None:
    """The first stop leads past the navigation; the box of the chat has the focus without any press of Tab."""
    keys = seen_and_named
    page = keys.page
    windows: list[Any] = []
    # The system's own window for files; said now, so that none opens unheard.
    page.on("filechooser", lambda window: windows.append(window))
    assert keys.tab_to("Ir al contenido", "link") == 1
    assert keys.press("Enter").role == "main"
    assert keys.tab_to("Chat", "link", back=True) <= 5
    keys.press("Enter")
    page.get_by_text("Aquí hace falta una base").wait_for()
    settle(page)
    keys.tab_to("Elegir archivos", "button")
    page.keyboard.press("Enter")
    for _ in range(100):
        if windows:
            break
        page.wait_for_timeout(200)
    assert windows, keys.focus()
    windows[0].set_files(files=[{"name": "tasas.md", "mimeType": "text/markdown", "buffer": DOCUMENT.encode()}])
    box_has_focus(keys)
    page.reload()
    box_has_focus(keys)
    # From anywhere on the page, the second stop of a fresh page leads there.
    keys.tab_to("Ir al cuadro de la pregunta", "link", back=True)
    assert keys.press("Enter").name == BOX


def test_a_question_its_answer_and_its_sources(seen_and_named: Keyboard) -> None:
    """The focus goes with the source that is opened, and back to its citation when it is closed."""
    keys = seen_and_named
    page = keys.page
    page.get_by_text("General", exact=True).click()  # which quotes several sentences
    settle(page)
    page.locator("[data-testid='stChatInputTextArea']").focus()
    keys.type(QUESTION)
    assert keys.press("Enter").name == BOX  # the next question can be typed at once
    page.locator("[class*='st-key-actions-']").wait_for()
    settle(page)
    keys.tab_to("[1]", "link", back=True)
    keys.press("Enter")
    pane = page.locator(".st-key-source-pane")
    pane.locator("mark").first.wait_for()
    opened = keys.focus()
    assert (opened.role, opened.name[:3]) == ("region", "[1]")
    marked = [pane.locator("mark").first.inner_text()]
    for key, head in (("]", "[2]"), ("[", "[1]")):
        keys.press(key)
        pane.get_by_text(head, exact=False).first.wait_for()
        assert keys.focus().name.startswith(head)
        marked.append(pane.locator("mark").first.inner_text())
    assert set(marked) == {CIVIL, TRADE}
    assert marked[0] == marked[2]
    keys.tab_to("Siguiente", "button")
    keys.press("Enter")
    pane.get_by_text("[2]").first.wait_for()
    page.wait_for_timeout(600)
    assert keys.focus().role == "region"  # the button has become useless: there is no third source
    keys.press("Escape")
    pane.wait_for(state="detached")
    assert keys.focus().name == "[1]"


def test_an_answer_is_copied_and_rated_with_a_reason(seen_and_named: Keyboard, walked: Server) -> None:
    keys = seen_and_named
    page = keys.page
    keys.press("k")
    assert "noventa y tres euros" in page.evaluate("navigator.clipboard.readText()")
    page.evaluate("navigator.clipboard.writeText('')")
    keys.tab_to("Copiar la respuesta con sus fuentes", "button")
    page.keyboard.press("Enter")  # looked for at once: it is said for a moment
    page.get_by_role("status").get_by_text("Copiado").wait_for()
    assert "noventa y tres euros" in page.evaluate("navigator.clipboard.readText()")
    keys.tab_to("Pulgar arriba", "radio")
    assert keys.press("ArrowRight").name == "Pulgar abajo"
    keys.press("Enter")
    page.get_by_role("button", name="Indicar qué falla").wait_for()
    assert keys.tab_to("Indicar qué falla", "button") <= 2
    keys.press("Enter")
    page.locator("[data-testid='stPopoverBody']").wait_for()
    page.wait_for_timeout(300)
    assert keys.focus().role == "dialog"
    keys.tab_to("", key="", role="button", most=1)  # the first reason
    keys.press("Space")
    keys.tab_to("¿Qué falla en la respuesta?", "textbox", most=6)
    keys.type("Falta el plazo.")
    keys.tab_to("Enviar", "button", most=8)
    keys.press("Enter")
    page.get_by_text("Gracias").wait_for()
    assert keys.press("Escape").name == "Indicar qué falla"
    [path] = (walked.data_dir / "conversations").rglob("*.jsonl")
    last = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert len(last["reasons"]) == 1
    assert last["note"] == "Falta el plazo."


def test_a_conversation_is_renamed_pinned_opened_and_deleted(seen_and_named: Keyboard) -> None:
    """After each of these the focus is where it was, or as near as can be."""
    keys = seen_and_named
    page, menu = keys.page, "Opciones de"

    def choose(act: str) -> None:
        keys.press("Enter")
        page.get_by_role("menu").wait_for()
        for _ in range(6):
            if keys.press("ArrowDown").name == act:
                break
        keys.press("Enter")

    keys.tab_to(menu, "button", back=True)
    choose("Cambiar el título")
    page.get_by_role("dialog").wait_for()
    keys.tab_to("Título", "textbox", most=4)
    page.keyboard.press("Control+a")
    keys.type("Las tasas")
    keys.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("button", name="Opciones de «Las tasas»").wait_for()
    page.wait_for_timeout(600)
    assert keys.focus().name == "Opciones de «Las tasas»"
    choose("Fijar arriba")
    page.get_by_text("Fijadas").wait_for()
    page.wait_for_timeout(600)
    assert keys.focus().name == "Opciones de «Las tasas»"
    keys.tab_to("Nueva conversación", "button", back=True)
    keys.press("Enter")
    page.get_by_text("Las fuentes se abren").wait_for()
    keys.tab_to("Las tasas", "button")
    keys.press("Enter")
    page.locator("[class*='st-key-actions-']").wait_for()
    keys.tab_to(menu, "button", most=2)
    choose("Eliminar la conversación")
    page.get_by_role("dialog").wait_for()
    keys.tab_to("Eliminar la conversación", "button", most=4)
    page.keyboard.press("Enter")  # what vanishes with its dialog has no name while it does
    page.get_by_role("dialog").wait_for(state="detached")
    page.locator("[class*='st-key-talk-row-']").wait_for(state="detached")
    page.wait_for_timeout(600)
    assert keys.focus().role != "page"


def test_the_own_questions_are_measured(seen_and_named: Keyboard) -> None:
    keys = seen_and_named
    page = keys.page
    keys.tab_to("Evaluar mi base", "link", back=True)
    keys.press("Enter")
    page.get_by_role("heading", name="Evaluar mi base").wait_for()
    settle(page)
    keys.tab_to("Sus preguntas", "textbox")
    page.keyboard.press("Control+a")
    keys.type(OWN)
    keys.tab_to("Buscar dónde se contesta cada una", "button", most=3)
    keys.press("Enter")
    page.locator(".st-key-own-1").wait_for()
    settle(page)
    for place in range(2):
        box = page.locator(f".st-key-own-{place}")
        section = "Registro civil" if "registro civil" in box.locator("strong").first.inner_text() else "mercantil"
        letter = box.get_by_text(re.compile(rf"^[A-H] · .*{section}")).first.inner_text()[0]
        keys.tab_to("Lo contesta A", "radio", f"st-key-own-choice-{place}")
        for _ in range(8):
            if keys.focus().name == f"Lo contesta {letter}":
                break
            keys.press("ArrowRight")
        keys.press("Enter")
    page.get_by_text("2 de 2").first.wait_for()
    keys.tab_to("Medir", "button")
    keys.press("Enter")
    page.locator("h2").filter(has_text="el chat resuelve bien").first.wait_for()
    settle(page)


def test_a_setting_is_changed(seen_and_named: Keyboard, walked: Server) -> None:
    """The list of settings is found by typing; the value that was saved stays."""
    keys = seen_and_named
    page = keys.page
    keys.tab_to("Administración", "link", back=True)
    keys.press("Enter")
    page.get_by_role("heading", name="Administración").wait_for()
    settle(page)
    keys.tab_to("Base", "tab")
    for _ in range(8):
        if keys.press("ArrowRight").name == "Ajustes":
            break
    settle(page)
    keys.tab_to("Ver o cambiar un ajuste", "combobox")
    keys.type("KB_MIN_EVIDENCE")
    page.get_by_role("option").first.wait_for()
    keys.press("Enter")
    page.get_by_label("Valor").first.wait_for()
    settle(page)
    keys.tab_to("Valor", "spinbutton", most=4)
    page.keyboard.press("Control+a")
    keys.type("0.37")
    keys.press("Enter")
    keys.tab_to("Guardar", "button", most=4)
    keys.press("Enter")
    page.wait_for_timeout(600)
    settings = json.loads((walked.data_dir / "app_settings.json").read_text("utf-8"))["settings"]
    assert settings["kb_min_evidence"] == 0.37
    assert keys.focus().role != "page"


@pytest.mark.parametrize(
    ("button", "wrong"),
    [
        ("<button>Sí</button>", ""),
        ("<button aria-label=''></button>", "has no name"),
        ("<button style='outline: none'>Sí</button>", "has no outline"),
        ("<div style='opacity: 0'><button>Sí</button></div>", "is transparent"),
        ("<button style='position: fixed; left: -200px'>Sí</button>", "is outside the window"),
        ("<button>Sí</button><div style='position: fixed; inset: 0; background: red'></div>", "is covered"),
    ],
)
def test_the_measure_sees_what_is_wrong_where_the_focus_is(browser: Any, button: str, wrong: str) -> None:
    page = browser.new_context().new_page()
    page.set_content(f"<style>button {{width: 9rem; height: 3rem}}</style><p>…</p>{button}")
    keys = Keyboard(page)
    page.keyboard.press("Tab")
    assert keys.focus().wrong == ((wrong,) if wrong else ())
    page.context.close()
