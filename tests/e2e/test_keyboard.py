"""From opening the app to a setting in Admin with a keyboard alone; what has the focus is always seen and named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Server
from tests.e2e.keys import Keyboard
from tests.e2e.test_tour import settle

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("e2e")]
SETTINGS = {"RETRIEVAL_STRATEGY": "LEXICAL", "PROVIDER": "demo"}
QUESTION = "¿De cuánto es la dieta de jornada completa y cuántos días laborables de vacaciones hay por año?"
BOX = "Pregunte algo sobre el documento"


def test_with_the_keyboard_alone_from_the_first_page_to_a_setting(page: Any, server: Server) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(server.url)
    page.wait_for_selector("h1")
    settle(page)
    keys = Keyboard(page)

    # The first stop leads past the navigation; the chat begins with a sample.
    assert keys.tab_to("Ir al contenido", "link") == 1
    assert keys.press("Enter").role == "main"
    keys.tab_to("Chat", "link", back=True)
    keys.press("Enter")
    page.get_by_text("Para conversar hace falta").wait_for()
    settle(page)
    keys.tab_to("Cargar el ejemplo", "button")
    keys.press("Enter")
    page.get_by_text("politica_empresa.md").first.wait_for()
    settle(page)
    assert keys.focus().name == BOX  # no press at all

    # A question, its answer, and the sources one after another.
    keys.type(QUESTION)
    keys.press("Enter")
    page.locator("[class*='st-key-actions-']").wait_for()
    settle(page)
    keys.tab_to("[1]", "link", back=True)
    keys.press("Enter")
    pane = page.locator(".st-key-source-pane")
    pane.wait_for()
    settle(page)
    first = pane.inner_text()
    print("PANE", keys.focus(), flush=True)
    keys.press("]")
    assert pane.inner_text() != first
    keys.press("[")
    assert pane.inner_text() == first
    print("WRONG", *keys.wrong, sep="\n", flush=True)
