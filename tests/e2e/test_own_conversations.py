"""A visitor's conversations in a real browser: nothing of them is lost, and nobody else finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_tour import ask, settle, visit
from tests.knowledge_base.test_filters import OPEN, SECRET, new

pytestmark = [pytest.mark.e2e]

KILOMETRES, HOLIDAYS, BOTH = "¿A cuánto se paga cada kilómetro?", "¿Cuántos días tiene Zurbarán?", "¿Cómo se piden?"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data_dir = tmp_path_factory.mktemp("talks")
    store = KbStore(load_settings(data_dir=data_dir).kb_dir)
    store.keep([new(*pair) for pair in OPEN.items()], 100_000, "Personas")
    store.keep([new("secreto.md", SECRET)], 100_000, "Dirección")
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


def rows(page: Any) -> list[str]:
    """The titles of the list."""
    settle(page)
    found: list[str] = page.locator("[class*='st-key-talk-open-']").all_inner_texts()
    return [text.partition("\n")[0] for text in found]


def act(page: Any, title: str, what: str) -> None:
    page.get_by_role("button", name=f"Opciones de «{title}»").click()
    page.get_by_role("menuitem", name=what).click()


def shown(page: Any, question: str) -> bool:
    settle(page)
    return bool(page.locator("[data-testid='stChatMessage']").filter(has_text=question).count())


def asked(page: Any, question: str) -> None:
    ask(page, question)
    page.get_by_text("¿Le sirve").last.wait_for()
    settle(page)


@pytest.mark.slow
def test_conversations_over_two_bases_survive_whatever_happens_and_are_their_visitors_alone(
    page: Any, browser: Any, started: Server
) -> None:
    visit(page, started, "Chat")
    asked(page, HOLIDAYS)
    page.get_by_role("button", name="Todos los documentos").click()
    page.get_by_role("combobox", name="Preguntar también a").click()
    page.get_by_role("option", name="Personas").click()
    for _ in ("list", "popover"):
        page.keyboard.press("Escape")
    settle(page)
    assert not shown(page, HOLIDAYS)
    asked(page, BOTH)
    both = page.url
    page.get_by_role("button", name="Nueva conversación").click()
    settle(page)
    asked(page, KILOMETRES)
    assert rows(page) == [KILOMETRES, BOTH, HOLIDAYS]

    act(page, HOLIDAYS, "Cambiar el título")
    page.get_by_role("textbox", name="Título").fill("Sobre Zurbarán")
    page.get_by_role("button", name="Guardar").click()
    page.get_by_role("button", name="Opciones de «Sobre Zurbarán»").wait_for()
    act(page, "Sobre Zurbarán", "Fijar arriba")
    page.get_by_text("Fijadas").wait_for()
    assert rows(page) == ["Sobre Zurbarán", KILOMETRES, BOTH]
    page.get_by_placeholder("Buscar conversaciones").fill("ZURBARAN")
    page.keyboard.press("Enter")
    page.get_by_text("Hoy", exact=True).wait_for(state="detached")
    assert rows(page) == ["Sobre Zurbarán"]
    page.get_by_placeholder("Buscar conversaciones").fill("")
    page.keyboard.press("Enter")
    page.get_by_text("Hoy", exact=True).wait_for()

    page.get_by_role("button", name="Sobre Zurbarán").first.click()
    page.wait_for_function("url => location.href !== url", arg=page.url)
    assert shown(page, HOLIDAYS)
    one = page.url
    page.reload()
    assert shown(page, HOLIDAYS)
    assert page.url == one
    page.get_by_role("link", name="Evaluación").click()
    settle(page)
    page.get_by_role("link", name="Chat").click()
    page.wait_for_url(one)
    assert shown(page, HOLIDAYS)
    started.kill()
    started.start()
    bookmark = page.context.new_page()
    bookmark.goto(both)
    bookmark.get_by_text(BOTH).first.wait_for()
    assert (shown(bookmark, BOTH), bookmark.url) == (True, both)
    assert rows(bookmark) == ["Sobre Zurbarán", KILOMETRES, BOTH]
    page.goto(one)
    page.get_by_text(HOLIDAYS).first.wait_for()

    stranger = browser.new_context().new_page()
    stranger.goto(both)
    stranger.get_by_text("no es suya").wait_for()
    assert not rows(stranger)
    assert not shown(stranger, BOTH)
    stranger.context.close()

    act(page, "Sobre Zurbarán", "Eliminar la conversación")
    page.get_by_role("dialog").get_by_role("button", name="Eliminar la conversación").click()
    page.get_by_role("button", name="Opciones de «Sobre Zurbarán»").wait_for(state="detached")
    assert rows(page) == [KILOMETRES, BOTH]
    assert not shown(page, HOLIDAYS)
