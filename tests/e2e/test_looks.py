"""The design's key views look as they did, at three widths and in both themes; docs/decisions/0228 says how it is seen.

    RENEW_LOOKS=1 python -m pytest tests/e2e/test_looks.py

writes what is compared anew, after a change that is meant.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.browser import SOON_MS
from tests.e2e.looks import (
    MEAN,
    PATCH,
    THEMES,
    WIDTHS,
    Parts,
    apart,
    differences,
    keep,
    kept,
    parts_of,
    picture_of,
    picture_path,
)
from tests.e2e.test_tour import settle
from tests.e2e.views import VISITOR, World, open_view, world
from tests.e2e.visitors import become

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("views")]


def _source(page: Any) -> None:
    page.get_by_role("link", name="[1]").first.click()
    page.locator(".st-key-source-pane").wait_for()
    settle(page)


_SAME_SECONDS = """() => {
  const figures = document.querySelectorAll("[data-testid='stMetricValue']");
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE && /^[0-9.,]+\\s(ms|s|min)$/.test(node.data.trim())) node.data = "2 s";
    node.childNodes.forEach(walk);
  };
  figures.forEach(walk);
}"""
"""Lets every run have taken as long: how long it took is a figure as large as a patch of the picture."""


_LOOKS = 3
"""How often a view that differs is looked at again."""

VIEWS: dict[str, tuple[str, dict[str, Callable[[Any], None]]]] = {
    "home": ("home", {"home": lambda page: None}),
    "chat": ("chat, answered", {"chat": lambda page: None, "source": _source}),
    "run": ("runs, run 1", {"run": lambda page: None}),
    "admin": ("admin, tab 0", {"admin": lambda page: None}),
}
"""Page -> view of ``views.py`` that is opened, and what is looked at there: name -> what is done before."""


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from world(tmp_path_factory.mktemp("looks"))


@pytest.fixture(scope="module")
def visitor(browser: Any, lived_in: World) -> Iterator[Any]:
    """One visitor for all looks: a new one would load Streamlit's scripts anew."""
    context = browser.new_context(locale="es-ES")
    context.set_default_timeout(SOON_MS)
    yield context
    context.close()


def shown(visitor: Any, lived_in: World, name: str, width: int, theme: str) -> Any:
    """Open a view in a page of its own; close it after use."""
    page = visitor.new_page()
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.emulate_media(color_scheme=theme)
    become(page, lived_in.server, VISITOR)
    open_view(page, lived_in, VIEWS[name][0])
    return page


def stand_still(page: Any) -> None:
    page.locator("[data-testid='stMain']").evaluate("main => main.scrollTo(0, 0)")
    page.mouse.move(0, 0)
    page.wait_for_timeout(700)  # charts draw themselves
    page.evaluate(_SAME_SECONDS)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_looks_as_it_did(visitor: Any, lived_in: World, name: str, tmp_path: Path) -> None:
    """Its parts are where they were, in their type and colours; its small picture is as it was."""
    steps = VIEWS[name][1]
    before, looks, wrong = {look: kept(look) for look in steps}, {look: dict[str, Parts]() for look in steps}, []
    renew = "RENEW_LOOKS" in os.environ
    for width in WIDTHS:
        page = shown(visitor, lived_in, name, width, THEMES[0])
        for look, prepare in steps.items():
            page.emulate_media(color_scheme=THEMES[0])
            prepare(page)
            stand_still(page)
            for theme in THEMES:
                case = f"{width} {theme}"
                page.emulate_media(color_scheme=theme)
                page.wait_for_timeout(700)  # charts draw themselves anew
                path = picture_path(look, width, theme)
                if renew:
                    looks[look][case] = parts_of(page)
                    path.parent.mkdir(exist_ok=True)
                    picture_of(page).save(path, optimize=True)
                    continue
                found = compare(before[look].get(case, {}), path, page)
                for _ in range(_LOOKS):
                    if found:  # a table or a chart may still be drawing itself
                        page.wait_for_timeout(1_500)
                        found = compare(before[look].get(case, {}), path, page)
                if found:
                    page.screenshot(path=tmp_path / path.name)
                wrong += [f"{look}, {case}: {line}" for line in found]
        page.close()
    for look, parts in looks.items() if renew else ():
        keep(look, parts)
    assert wrong == [], f"whole pictures are in {tmp_path}; if the change is meant: RENEW_LOOKS=1 pytest {__file__}"


def compare(before: Parts, path: Path, page: Any) -> list[str]:
    """Return what differs from what was kept, one line each."""
    found = differences(before, parts_of(page))
    mean, patch = apart(Image.open(path), picture_of(page)) if path.exists() else (255.0, 255.0)
    if mean > MEAN or patch > PATCH:
        found.append(f"its picture is {mean:.1f} greys away, one patch {patch:.1f}; at most {MEAN} and {PATCH}")
    return found


@pytest.fixture(scope="module")
def home(visitor: Any, lived_in: World) -> Iterator[Any]:
    """One page for all changes of the design: each is taken back."""
    page = shown(visitor, lived_in, "home", 1440, "light")
    stand_still(page)
    yield page
    page.close()


@pytest.mark.parametrize(
    ("style", "seen"),
    [
        (".stApp button, .stApp a {color: #7c3aed !important}", "color was"),
        ("[data-testid=stMainBlockContainer] {padding-left: 64px !important}", "main: padding was"),
        ("[data-testid=stMain] h1 {margin-bottom: 16px !important}", "title: margin was"),
        ("[data-testid=stMain] h1 {font-family: sans-serif !important}", "title: font-family was"),
        ("[data-testid=stMain] h1 {font-weight: 400 !important}", "title: font-weight was"),
        ("[data-testid=stSidebar] {background: #d0d8cc !important}", "its picture is"),
        ("[data-testid=stMetricValue] {visibility: hidden}", "figure is gone"),
        (".st-key-home-runs {visibility: hidden}", "its picture is"),
    ],
)
def test_a_change_of_the_design_is_seen(home: Any, style: str, seen: str) -> None:
    """Without the change nothing is seen, with it this is."""
    before, path = kept("home")["1440 light"], picture_path("home", 1440, "light")
    assert compare(before, path, home) == []
    change = home.add_style_tag(content=style)
    home.wait_for_timeout(400)
    found = compare(before, path, home)
    change.evaluate("style => style.remove()")
    home.wait_for_timeout(400)
    assert any(seen in line for line in found), found


def test_what_is_kept_is_small() -> None:
    sizes = {path.name: path.stat().st_size for path in Path(__file__).with_name("looks").iterdir()}
    assert max(size for name, size in sizes.items() if name.endswith(".png")) <= 15_000
    assert sum(sizes.values()) <= 300_000
