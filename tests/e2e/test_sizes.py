"""How much room the pages take: the chat's frame, boxes to upload, and what a phone scrolls sideways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import SOON_MS
from tests.e2e.test_tour import settle
from tests.e2e.views import VISITOR, World, open_view, world
from tests.e2e.visitors import become

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FRAME_PX, RESULT_PX = 150, 1_500
MODELS_PX, ONE_LINE_PX = 180 + 210, 50
EIGHT_ROWS_PX = 38 + 8 * 35
_FRAME = """() => {
  const at = (selector) => document.querySelector(selector).getBoundingClientRect();
  return at("[class*='st-key-turn-']").top + innerHeight - at("[data-testid='stBottom']").top;
}"""
"""Pixels of the window above the first question and below the last answer, at the top of a conversation."""
_WITH_MODELS = """width => {
  const bar = document.querySelector(".st-key-chat-bar");
  const model = bar.querySelector("[data-testid='stCaptionContainer']").closest("[data-testid='stElementContainer']");
  model.style.cssText = `width: ${width}px; min-width: ${width}px`;
  return bar.getBoundingClientRect().height;
}"""
"""Height of the bar with a list of models in place of the only one's name, and with the filter of several documents."""
_HEIGHT = "document.querySelector('[data-testid=stMain]').scrollHeight"
_SIDEWAYS = """() => {
  const main = document.querySelector("[data-testid='stMain']");
  return Math.max(main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth);
}"""


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from world(tmp_path_factory.mktemp("sizes"))


def opened(browser: Any, lived_in: World, width: int, height: int) -> Any:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(SOON_MS)
    become(page, lived_in.server, VISITOR)
    return page


def test_the_frame_of_the_chat_is_thin(browser: Any, lived_in: World) -> None:
    page = opened(browser, lived_in, 1440, 768)
    open_view(page, lived_in, "chat, answered")
    page.locator("[data-testid='stMain']").evaluate("main => main.scrollTo(0, 0)")
    assert page.evaluate(_FRAME) <= FRAME_PX
    assert (
        page.locator(".st-key-chat-bar input").first.evaluate("one => getComputedStyle(one).textOverflow") == "ellipsis"
    )
    assert page.evaluate(_WITH_MODELS, MODELS_PX) <= ONE_LINE_PX
    page.context.close()


def test_nothing_stands_in_front_of_a_question_in_a_dialog(browser: Any, lived_in: World) -> None:
    """The menu that asks it is a layer above the page."""
    page = opened(browser, lived_in, 1440, 900)
    open_view(page, lived_in, "admin, deletion")
    dialog = page.get_by_role("dialog").filter(has=page.locator(".st-key-delete-yes"))
    dialog.get_by_role("button", name="Eliminar la base").wait_for()
    assert page.locator("[data-testid='stPopoverBody']:visible").count() == 0
    page.context.close()


def test_a_phone_scrolls_no_page_sideways(browser: Any, lived_in: World) -> None:
    page = opened(browser, lived_in, 390, 844)
    wide = {}
    for name in ("home", "chat, empty", "chat, answered", "runs, run 0", "runs, run 1", "admin, tab 0", "mykb, step 0"):
        open_view(page, lived_in, name)
        wide[name] = page.evaluate(_SIDEWAYS)
    assert {name: px for name, px in wide.items() if px > 0} == {}
    page.context.close()


@pytest.mark.parametrize(
    ("name", "every"), [("runs, run 0", ""), ("runs, run 1", "Todas ("), ("mykb, step 1", "Todas")]
)
def test_a_result_is_read_without_scrolling_far(browser: Any, lived_in: World, name: str, every: str) -> None:
    """With the list of what failed, and with that of all questions; one in full is shown when it is chosen."""
    page = opened(browser, lived_in, 1440, 900)
    open_view(page, lived_in, name)
    page.get_by_role("tab").last.wait_for()
    settle(page)
    page.wait_for_function(f"() => {_HEIGHT} <= {RESULT_PX}")
    if every:
        page.get_by_role("radio", name=every).click()
        settle(page)
    page.wait_for_function(f"() => {_HEIGHT} <= {RESULT_PX}")
    if every:
        table = page.locator("[data-testid='stDataFrame']").first
        assert table.evaluate("table => table.clientHeight") >= EIGHT_ROWS_PX
    page.context.close()
