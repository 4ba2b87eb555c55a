"""What a person does with a message, by mouse and by keys, in a real browser under the pages' own policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import violations
from tests.e2e.test_tour import ask, settle, upload, visit
from tests.waiting import SOON_S, wait_until

pytestmark = [pytest.mark.e2e]

QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"
NEAR = "¿Cuánto dura el permiso de paternidad?"
INPUT = "[data-testid='stChatInputTextArea']"


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data_dir = tmp_path_factory.mktemp("messages")
    build_app(load_settings(data_dir=data_dir)).kbs.add_sample()
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.fixture
def chat(page: Any, manual: Server) -> Any:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, manual, "Chat")
    return page


def answered(page: Any, question: str) -> None:
    ask(page, question)
    page.locator("[class*='st-key-turn-']", has_text=question).last.locator("[class*='st-key-actions-']").wait_for()
    settle(page)


def top_of_last(page: Any) -> float:
    """Pixels from the top of the window to the last question."""
    return float(page.locator("[class*='st-key-turn-']").last.evaluate("turn => turn.getBoundingClientRect().top"))


def test_one_journey_over_the_actions(chat: Any) -> None:
    page = chat
    answered(page, QUESTION)
    page.get_by_role("button", name="Copiar la respuesta con sus fuentes").click()
    page.get_by_role("status").get_by_text("Copiado").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Cada persona dispone de 23 días laborables")
    assert "- [1] Vacaciones (politica_empresa.md, " in copied

    answered(page, NEAR)
    page.get_by_text("Lo más cercano").wait_for()
    page.get_by_role("button", name="Responder con este pasaje").first.click()
    page.get_by_text("Según el pasaje que usted eligió").wait_for()
    settle(page)
    page.get_by_role("button", name="Compartir").last.click()
    address = page.locator("[data-testid='stPopoverBody'] code").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Ver la anterior").click()
    page.get_by_text("Lo más cercano").wait_for()
    settle(page)
    page.goto(address)
    page.get_by_text("Según el pasaje que usted eligió").wait_for()
    settle(page)

    page.get_by_role("button", name="Editar la pregunta").first.click()
    page.get_by_role("textbox", name="Editar la pregunta").fill("¿Cuánto se paga por kilómetro en coche propio?")
    page.get_by_role("button", name="Preguntar", exact=True).click()
    page.get_by_text(NEAR).first.wait_for(state="detached")  # it is in the other branch, which has a 2/2 as well
    page.get_by_text("2/2").first.wait_for()
    settle(page)
    assert page.get_by_text("2/2").count() == 1
    assert page.get_by_text(NEAR).count() == 0
    assert violations(page, "the actions") == []


@pytest.mark.slow
def test_the_box_has_the_focus_and_a_new_question_comes_into_sight(chat: Any) -> None:
    page = chat
    page.locator(f"{INPUT}:focus").wait_for()
    for question in (QUESTION, NEAR, "¿Cuánto se paga por kilómetro en coche propio?"):
        answered(page, question)
    page.locator("[data-testid='stMain']").evaluate("main => main.scrollTo(0, 0)")
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -10)
    assert top_of_last(page) > 900
    answered(page, "¿Qué dietas se pagan?")
    page.wait_for_timeout(800)
    assert 0 <= top_of_last(page) < 450
    assert page.evaluate("document.querySelector('[data-testid=stApp]').scrollTop") == 0
    assert page.locator(".st-key-chat-bar").is_visible()
    page.reload()  # a conversation that is opened goes on where it ends
    page.locator("[class*='st-key-turn-']").nth(3).wait_for()
    settle(page)
    page.wait_for_timeout(800)
    assert 0 <= top_of_last(page) < 450


@pytest.mark.slow
def test_keys_do_what_their_list_says(chat: Any) -> None:
    page = chat
    answered(page, QUESTION)
    page.mouse.click(1255, 300)  # beside all that acts
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Copiar la última respuesta").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.mouse.click(1255, 300)  # beside all that acts
    page.evaluate("navigator.clipboard.writeText('')")
    page.keyboard.press("k")
    wait_until(lambda: "23 días" in page.evaluate("navigator.clipboard.readText()"), SOON_S, "the copy")
    page.keyboard.press("g")
    page.get_by_text("2/2").wait_for()
    settle(page)
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Editar la pregunta").wait_for()
    page.get_by_role("button", name="Cancelar").click()
    settle(page)
    page.mouse.click(1255, 300)  # beside all that acts
    page.keyboard.press("/")
    page.keyboard.type("n?")
    assert page.locator(INPUT).input_value() == "n?"  # a key in the box is a letter
    page.mouse.click(1255, 300)  # beside all that acts
    page.keyboard.press("n")
    page.get_by_text("Las fuentes se abren").wait_for()
    page.reload()
    page.wait_for_selector(INPUT)
    settle(page)
    first = page.locator("body").locator("a[href], button, input, select, textarea").first  # the first stop of Tab
    assert first.inner_text() == "Ir al cuadro de la pregunta"
    first.focus()
    page.keyboard.press("Enter")
    page.locator(f"{INPUT}:focus").wait_for()


@pytest.mark.slow
def test_one_row_under_an_answer_says_all_and_opens_its_sources(chat: Any) -> None:
    page = chat
    answered(page, QUESTION)
    row = page.locator("[class*='st-key-actions-']").last
    pane = page.locator(".st-key-source-pane")
    for width, lines in ((1440, 1), (1024, 1), (390, 2)):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(500)
        size = row.evaluate("row => [row.offsetHeight, row.scrollWidth - row.clientWidth]")
        assert size[0] < 45 * lines and size[1] <= 0, (width, size)
        assert row.get_by_text("Respondida").is_visible()
        row.get_by_role("button", name="1 fuente").click()
        pane.locator("mark").first.wait_for()
        page.keyboard.press("Escape")
        pane.wait_for(state="detached")
        page.get_by_role("link", name="[1]").last.click()  # a citation opens its passage at every width
        pane.locator("mark").first.wait_for()
        settle(page)
        pane.get_by_role("button", name="Cerrar").click()
        pane.wait_for(state="detached")
        settle(page)


@pytest.mark.slow
def test_the_box_for_files_closes_and_its_result_stays_in_its_base(chat: Any) -> None:
    page = chat
    page.get_by_role("button", name="Subir").click()
    upload(page, "nota.md", "# Nota\n\nEl pan se hornea a las seis de la mañana cada día laborable.".encode())
    page.get_by_text("«nota.md» está lista").wait_for()
    settle(page)
    assert page.locator("[data-testid='stPopoverBody']").count() == 0
    page.get_by_role("combobox", name="Base", exact=True).click()
    page.get_by_role("option", name="politica_empresa.md").click()
    settle(page)
    assert page.get_by_text("«nota.md» está lista").count() == 0
