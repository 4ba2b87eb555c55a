"""Each view of the pages as a browser tells it to those who do not see it, over the kept data folder.

Of a narrow window only what is otherwise is kept. A page is read when its script has ended, nothing
in it is still being checked, and it stands still.
"""

from __future__ import annotations

import difflib
import re
import runpy
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.app_in_browser import chromium
from benchmarks.recorder.facts import Fact, Place
from benchmarks.recorder.keeping import VISITOR, app_over
from benchmarks.recorder.kept import ARCHIVE, at_time
from benchmarks.recorder.stable import Stable
from benchmarks.recorder.vectors import use_float32
from streamlit_app.chat import conversation_list
from streamlit_app.shared import i18n
from tests.e2e import conftest
from tests.e2e.conftest import Server
from tests.e2e.views import World, views
from tests.e2e.visitors import cookie_of
from tests.waiting import wait_until

WIDE, NARROW = 1440, 390
_IN_SAMPLE = ("home", "chat, answered")
_IN_ENGLISH = (
    "home",
    "home, tour",
    "chat, answered",
    "runs, list",
    "runs, run 0",
    "admin, tab 0",
    "mykb, step 0",
    "document",
)
_LEFT_OUT = re.compile(r"chat, [A-Z]|chat, (sources|search|documents|keys|what)|runs, filters|.*, deletion")
"""What opens over a page that is recorded, and parts whose words the machine decides."""
_PATIENCE_MS = 600_000
"""As long as a page may take on a machine that does much else."""
_MADE = "made_at.txt"
_STATE = "() => document.querySelector(\"[data-testid='stApp']\")?.dataset.testScriptState"
_DONE = f"""() => ({_STATE})() === 'notRunning' && document.querySelector('h1')
  && !/Comprobando…|Checking…/.test(document.body.innerText)
  && !document.querySelector("[data-testid='stSkeleton'], [data-testid='stSpinner']")"""
_TRIES = 200
_LOOKS = 8


def facts(place: Place) -> Iterator[Fact]:
    """Yield the tree of each view, what is otherwise in a narrow window, and some views in English."""
    with zipfile.ZipFile(ARCHIVE) as packed:
        packed.extractall(place.work)
    with _served(place.work) as world, chromium() as browser:
        stable = Stable({"work": place.work, "url": Path(world.server.url)}, today=False)
        with _visit(browser, world) as page:
            for name, (address, prepare) in views(world).items():
                if _LEFT_OUT.match(name) or (name not in _IN_SAMPLE and place.sample):
                    continue
                wide = _opened(page, stable, world.server.url, address, prepare)
                yield Fact(f"pages/{name}", wide)
                page.set_viewport_size({"width": NARROW, "height": 1000})
                yield Fact(f"pages/{name}/{NARROW}", otherwise(wide, _told(page, stable)))
    if not place.sample:
        with _served(place.work, UI_LANGUAGE="en") as world, chromium() as browser, _visit(browser, world) as page:
            for name in _IN_ENGLISH:
                address, prepare = views(world)[name]
                yield Fact(f"pages/{name}/en", _opened(page, stable, world.server.url, address, prepare))


@contextmanager
def _served(work: Path, **settings: str) -> Iterator[World]:
    """The pages over the kept folder, in a process whose clock stands where it stood when the folder was made."""
    data = work / "data"
    app = app_over(data)
    runs = sorted(line.run_id for line in app.archive.runs()[0] if line.dataset == "valle_multihop")
    [talk] = [one for one in app.chat.heads(VISITOR) if one.given_title]
    start = ("-m", "benchmarks.recorder.pages", (work / _MADE).read_text("utf-8"))
    server = Server(data, *start, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo", GENERATION_ENABLED="false", **settings)

    def patiently(condition: Callable[[], bool], _: float, what: str, every_s: float) -> bool:
        return bool(wait_until(condition, _PATIENCE_MS / 1_000, what, every_s))

    try:
        with patch.object(conftest, "wait_until", patiently):
            server.start()
        yield World(server, tuple(runs), talk.kb_id, talk.conversation_id)
    finally:
        server.kill()


@contextmanager
def _visit(browser: Any, world: World) -> Iterator[Any]:
    context = browser.new_context(timezone_id="UTC", locale="es-ES", reduced_motion="reduce")
    context.set_default_timeout(_PATIENCE_MS)
    context.add_cookies([cookie_of(world.server.data_dir, world.server.url, VISITOR)])
    yield context.new_page()
    context.close()


def _opened(page: Any, stable: Stable, url: str, address: str, prepare: Callable[[Any], None]) -> list[str]:
    page.set_viewport_size({"width": WIDE, "height": 1000})
    page.goto(f"{url}/{address}")
    page.mouse.move(WIDE - 1, 500)  # over nothing; a browser without a window has it over the side bar at first
    still(page)
    prepare(page)
    return _told(page, stable)


def _told(page: Any, stable: Stable) -> list[str]:
    return [_plain(stable.text(line)) for line in still(page)]


def still(page: Any) -> list[str]:
    """Return the lines of a page's tree when it was the same ``_LOOKS`` times; its script has ended before each look.

    Raises:
        TimeoutError: it does not stand still.
    """
    seen: list[str] = []
    for _ in range(_TRIES):
        page.wait_for_function(_DONE)
        page.wait_for_load_state("networkidle")  # the code of some elements comes when the first one is drawn
        seen.append(page.locator("body").aria_snapshot())
        if len(seen) >= _LOOKS and len(set(seen[-_LOOKS:])) == 1:
            return seen[-1].splitlines()
        page.wait_for_timeout(100)  # between two looks; what is waited for is that they are alike
    raise TimeoutError(f"{page.url} does not stand still: {otherwise(seen[-2].splitlines(), seen[-1].splitlines())}")


def _plain(line: str) -> str:
    """Return a line without the names that Streamlit's build gives to files."""
    return re.sub(r"(/(?:media|static|_stcore)/)[^\s\"]+", r"\1…", line)


def otherwise(before: list[str], after: list[str]) -> list[str]:
    """Return the lines that only one of two trees has: "-…" the first, "+…" the second."""
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return [line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@"]


if __name__ == "__main__":
    use_float32()
    made = sys.argv[1]
    sys.argv = ["streamlit", *sys.argv[2:]]
    with (
        at_time(made) as shifted,
        patch.object(conversation_list, "datetime", shifted),
        patch.object(i18n, "datetime", shifted),
    ):
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
