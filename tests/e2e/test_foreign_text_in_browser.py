"""Texts of others in every place of every page, in a real browser: nothing is loaded, nothing runs, nothing links."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import cycle
from pathlib import Path

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_tour import ask, settle, upload
from tests.e2e.visitors import become
from tests.loopback import LoopbackServer
from tests.ui.planted import Planted, attempts, plant

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("views")]

# The icon is one that the program itself never draws.
FOREIGN_ELEMENTS = """(place) => {
  const found = [];
  for (const each of document.querySelectorAll("a[href], img[src], script[src], iframe[src]")) {
    const to = each.getAttribute("href") || each.getAttribute("src");
    if (to.includes(place) || to.includes("c.example") || /^(javascript|mailto):/.test(to)) found.push(each.outerHTML);
  }
  const drawn = ".katex, [aria-label='skull icon'], .mermaid, [data-testid='stMermaid']";
  for (const each of document.querySelectorAll(drawn))
    found.push(each.outerHTML);
  return found;
}"""


class Canary(LoopbackServer):
    """Counts the requests that no page may send."""

    def __init__(self) -> None:
        asked = self.asked = []  # type: list[str]
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with lock:
                    asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as running:
        yield running


@pytest.fixture
def hostile(tmp_path: Path, canary: Canary) -> Iterator[tuple[Server, Planted]]:
    foreign = attempts(canary.url)
    settings = load_settings(data_dir=tmp_path, retrieval_strategy="LEXICAL", provider="demo")
    planted = plant(build_app(settings), foreign)
    running = Server(tmp_path, "-m", "tests.e2e.foreign_model", RETRIEVAL_STRATEGY="LEXICAL", FOREIGN_TEXT=foreign)
    running.start()
    yield running, planted
    running.kill()


def addresses(planted: Planted, foreign: str) -> list[str]:
    from urllib.parse import quote

    first, second = planted.runs
    given = quote(foreign)
    return [
        "",
        "Evaluacion",
        f"Evaluacion?run={first}",
        f"Evaluacion?run={first}&query={quote(f'{foreign} 1')}",
        f"Evaluacion?run={first}&query={given}",
        f"Evaluacion?run={given}",
        f"Evaluacion?compare={given},{first}",
        f"Evaluacion?compare={first},{second}",
        f"Evaluacion?run={planted.ragas}",
        "Evaluacion?view=leaderboard",
        f"Evaluacion?view={given}&s={given}&tour={given}",
        "Chat",
        "Admin",
        "Evaluar_mi_KB",
    ]


def look(page, canary: Canary) -> None:  # type: ignore[no-untyped-def]
    """Open what is closed on the page; no element may be somebody else's."""
    settle(page)
    tabs = page.get_by_role("tab").all()
    for tab in tabs + tabs[:1]:  # drawn when it is first open, and kept
        tab.click()
        settle(page)
    page.evaluate(
        "() => document.querySelectorAll('[data-testid=stExpander] details:not([open]) > summary')"
        ".forEach((each) => each.click())"
    )
    settle(page)
    for popover in page.locator("[data-testid='stPopover'] button:visible").all()[:6]:
        popover.click()
        page.wait_for_timeout(150)
        assert page.evaluate(FOREIGN_ELEMENTS, canary.url) == []
        page.keyboard.press("Escape")
    settle(page)
    assert page.evaluate(FOREIGN_ELEMENTS, canary.url) == []


def test_no_text_of_others_loads_runs_or_links_anything(page, hostile, canary: Canary) -> None:  # type: ignore[no-untyped-def]
    """Every second page in English: what is drawn around a foreign text is the same."""
    server, planted = hostile
    foreign = attempts(canary.url)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    become(page, server, planted.session)
    seen = 0
    for language, address in zip(cycle(("es", "en")), addresses(planted, foreign), strict=False):
        mark = "&" if "?" in address else "?"
        page.goto(f"{server.url}/{address}{mark}lang={language}")
        page.wait_for_selector("h1")
        look(page, canary)
        seen += page.get_by_text("leak.png").count()

    page.goto(f"{server.url}/Chat?lang=es")
    page.wait_for_selector("h1")
    for question in (f"¿De cuánto es la dieta {foreign}?", "¿De cuánto es la dieta con avería?"):
        ask(page, question)
        page.wait_for_timeout(1_500)
        look(page, canary)
    page.goto(f"{server.url}/Admin?lang=en")
    page.wait_for_selector("h1")
    upload(page, f"{foreign}.exe", b"nada")
    page.get_by_text("leak.png").first.wait_for()
    page.wait_for_timeout(1_000)
    look(page, canary)
    assert canary.asked == []
    assert alerts == []
    assert seen > 20, "the texts are there to be read"


def test_the_check_sees_an_image_a_link_and_a_script(page, canary: Canary) -> None:  # type: ignore[no-untyped-def]
    """What the test above looks for is found where it is."""
    page.set_content(f"<img src='{canary.url}/leak.png'><a href='javascript:alert(1)'>a</a>")
    page.wait_for_timeout(500)
    assert canary.asked == ["/leak.png"]
    assert len(page.evaluate(FOREIGN_ELEMENTS, canary.url)) == 2
