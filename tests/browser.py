"""A real headless Chromium. Playwright can be started once per process, so all tests share it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Programs that are looked for on the PATH. The first has no windows to draw, and takes half of a processor's time."""
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--font-render-hinting=none"  # letters as wide as in a window
).split()
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)

_STILL = """
const animate = Element.prototype.animate;
Element.prototype.animate = function (frames, how) { return animate.call(this, frames, {...how, duration: 0}); };
"""
"""What opens is open at once. Streamlit opens an expander in half a second; a button in it that is clicked meanwhile is
elsewhere when the mouse is let go, and the click is lost. A person is slower."""

SOON_MS = 120_000
"""How long a browser waits for what comes at once, or never: no machine is too slow for it."""


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("needs a Chromium on the PATH (Debian: apt-get install chromium-headless-shell)")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SOON_MS)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    new_context = chromium.new_context

    def new_still_context(**options: Any) -> Any:
        context = new_context(**{"reduced_motion": "reduce", **options})
        context.add_init_script(_STILL)
        return context

    chromium.new_context = new_still_context
    yield chromium
    chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(SOON_MS)
    yield context.new_page()
    context.close()
