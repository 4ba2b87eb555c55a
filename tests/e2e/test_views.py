"""What is true of every view: nothing is cut, no English in Spanish pages, everything has a name to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import streamlit_app
from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.seen import cut, focusable, free_height, nameless, words
from tests.e2e.test_tour import settle
from tests.e2e.views import NAMES, VISITOR, WITH_BOXES, World, open_view, world
from tests.e2e.visitors import become

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("views")]

WIDTHS = (320, 390, 768, 1024, 1440, 1920)
"""In CSS pixels. A window of 640 at a zoom of 200 % has 320."""
ZOOMED = {"width": 720, "height": 450, "deviceScaleFactor": 2, "mobile": False}
"""A window of 1440 by 900 at a zoom of 200 %: half as many CSS pixels, also in height, each of four on the screen."""
_I18N = Path(streamlit_app.__file__).with_name("i18n")
_SAID = json.loads(_I18N.joinpath("es.json").read_text("utf-8"))
_OF_STREAMLIT = json.loads(_I18N.joinpath("streamlit_words.json").read_text("utf-8"))
"""What Streamlit says itself -> the same in Spanish."""


def _words(texts: Iterable[str]) -> set[str]:
    return {word for word in re.findall(r"\w+", " ".join(texts).lower()) if not word.isdigit()}


ENGLISH = frozenset(
    "the of and for with all select clear close open show hide help download upload copy search add row column delete "
    "remove press enter skip content loading running sidebar collapse expand view more less drag drop file browse link "
    "heading fullscreen connection please wait sort autosize pin page to is are this your chart options results value "
    "apply submit stop rerun under from not".split()
) | (_words(_OF_STREAMLIT) - _words(_SAID.values()) - _words(_OF_STREAMLIT.values()))
"""Words that no Spanish text of the pages has: common ones, and those of Streamlit's own texts."""
OF_FILES = ("Licensed with the project",)
"""Texts that a bundled data set says of itself."""


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from world(tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="module")
def visitor(browser: Any, lived_in: World) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(SOON_MS)
    page = context.new_page()
    become(page, lived_in.server, VISITOR)
    yield page
    context.close()


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """The view that the page shows, none after a test that did not end."""
    return []


@pytest.mark.parametrize("name", NAMES)
def test_a_view_is_whole_spanish_and_has_names(visitor: Any, lived_in: World, shown: list[str], name: str) -> None:
    """From 320 to 1920 pixels nothing is cut; no text is English; what acts has a name for a screen reader. So it is in
    every box that the view opens, wide or on a phone."""
    page, found = visitor, []
    page.set_viewport_size({"width": 1440, "height": 900})
    open_view(page, lived_in, name, shown.pop() if shown else "")
    page.wait_for_function("() => document.documentElement.lang === 'es'")
    page.mouse.move(0, 0)  # the tools of a table show themselves under the pointer alone
    found += [f"in English: {text[:80]}" for text in words(page) if is_english(text) and not text.startswith(OF_FILES)]
    found += [f"no name: {element}" for element in nameless(page)]
    for role, said in focusable(page):
        if role == "gridcell":  # what it holds is data: a path, a name, nothing
            continue
        found += [] if said else [f"no name for a screen reader: {role}"]
        found += [f"{role} in English: {said}"] if is_english(said) and not said.startswith(OF_FILES) else []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(400)  # tables measure themselves after the window has changed
        found += [f"at {width} px: {line}" for line in cut(page)]
        found += in_boxes(page, width) if name in WITH_BOXES and width in (390, 1440) else []
    browser = page.context.new_cdp_session(page)
    browser.send("Emulation.setDeviceMetricsOverride", ZOOMED)
    page.wait_for_timeout(400)
    assert page.evaluate("[innerWidth, innerHeight, devicePixelRatio]") == [720, 450, 2]
    found += [f"at 200 %: {line}" for line in cut(page)]
    over = page.locator("[role='dialog'], [data-testid='stPopoverBody']").count()
    if not over and free_height(page) < 1 / 3:
        found.append(f"at 200 %: bars leave {free_height(page):.0%} of the height to what is read")
    browser.send("Emulation.clearDeviceMetricsOverride")
    browser.detach()
    shown.append(name)
    assert found == []


def in_boxes(page: Any, width: int) -> list[str]:
    """Open each box and menu over the page in turn: nothing in them is cut, and no text is English."""
    found = []
    buttons = page.locator(
        "[data-testid='stMain'] :is([data-testid='stPopoverButton'], [aria-haspopup='menu']):visible"
    )
    box = page.locator("[data-testid='stPopoverBody'], [role='menu']")
    for button in buttons.all():
        said = f"{button.inner_text().splitlines()[-1:]} at {width} px"
        button.click()
        box.first.wait_for()
        settle(page)
        found += [f"{said}: {line}" for line in cut(page)]
        found += [f"{said}: in English: {text[:80]}" for text in words(page) if is_english(text)]
        found += [f"{said}: no name: {element}" for element in nameless(page)]
        page.keyboard.press("Escape")
        box.first.wait_for(state="detached")
    return [line for line in found if not any(text in line for text in OF_FILES)]


def is_english(text: str) -> bool:
    return bool(ENGLISH & set(re.findall(r"\w+", text.lower())))


def test_english_pages_say_so_and_keep_the_words_of_streamlit(browser: Any, lived_in: World) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{lived_in.server.url}/?lang=en")
    page.get_by_role("button", name="Help for").first.wait_for()
    assert page.evaluate("document.documentElement.lang") == "en"
    page.context.close()


def test_a_lost_connection_is_told_in_spanish(page: Any, server: Server) -> None:
    page.goto(server.url)
    page.get_by_text("Ir al contenido").wait_for(state="attached")
    assert page.get_by_text("Skip to main content").count() == 0
    settle(page)
    page.wait_for_timeout(1_500)  # parts that are drawn later are files of their own
    server.kill()
    page.get_by_text("Sin conexión").or_(page.get_by_text("Conectando")).first.wait_for(timeout=SOON_MS)
    assert [text for text in words(page) if is_english(text)] == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<div style='width:60px;overflow:hidden;white-space:nowrap'>un texto muy largo</div>", "text is cut"),
        ("<div style='position:absolute;left:90%;width:300px'>fuera de la ventana</div>", "is outside the window"),
        ("<div style='width:60px;overflow:hidden'><p style='width:200px'>dentro de otro</p></div>", "is cut by"),
    ],
)
def test_the_measure_sees_what_is_cut(browser: Any, body: str, said: str) -> None:
    page = browser.new_context(viewport={"width": 800, "height": 600}).new_page()
    page.set_content(f"<main class='stApp'>{body}<p>cabe</p></main>")
    assert any(line.startswith(said) for line in cut(page))
    assert not any("cabe" in line for line in cut(page))
    page.context.close()


def test_the_measure_sees_what_has_no_name(browser: Any) -> None:
    page = browser.new_context().new_page()
    page.set_content("<main class='stApp'><button style='width:20px;height:20px'></button><button>Sí</button></main>")
    assert len(nameless(page)) == 1
    page.context.close()
