"""What axe-core finds on every page: nothing, in the light theme and in the dark one; nor does the browser complain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]

from tests.browser import SOON_MS
from tests.e2e.test_tour import ask, settle, visit
from tests.e2e.views import ANSWERED, VISITOR, World, world
from tests.e2e.visitors import become

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("views")]

PAGES = ("", "Chat", "Evaluacion", "Admin", "Evaluar_mi_KB")
COLOURS = ("color-contrast", "link-in-text-block")
"""All rules that depend on the theme."""
OF_STREAMLIT = (("presentation-role-conflict", 'data-testid="stFileUploaderDropzo'),)
"""What Streamlit itself does wrong, as (rule, HTML): its box for files has no role, and yet a name."""


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield from world(tmp_path_factory.mktemp("worked_in"))


@dataclass(frozen=True)
class Walked:
    """What was seen on a walk over every page, tab and view, and an answer with its passage open; in either theme."""

    found: list[str]
    """By axe-core."""
    said: list[str]
    """By the browser, to whoever develops a page."""


@pytest.fixture(scope="module")
def walked(browser: Any, worked_in: World) -> Walked:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(SOON_MS)
    page, server, found = context.new_page(), worked_in.server, list[str]()
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{page.url} {message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"{page.url} error: {error}"))
    views = (
        "Evaluacion?view=leaderboard",
        "Evaluacion?view=history",
        f"Evaluacion?run={worked_in.runs[-1]}",
        f"Evaluacion?compare={','.join(worked_in.runs[-2:])}",
    )
    for path in (*PAGES, *views):
        visit(page, server, path)
        found += findings(page, path)
        for tab in page.get_by_role("tab").all():
            tab.click()
            settle(page)
            found += findings(page, f"{path} {tab.inner_text()}")
        if path == "Evaluar_mi_KB":
            become(page, server, VISITOR)
            visit(page, server, path)
            page.get_by_text("3. Revisar el chat").click()
            page.get_by_role("textbox", name="Su nombre").fill("Ana")
            page.get_by_role("button", name="Empezar a revisar").click()
            page.locator(".st-key-review-item").wait_for()
            settle(page)
            # The chosen order keeps its colour of the dark theme for axe where the theme turns while it is shown.
            found += [one for one in findings(page, "the review") if "<p>Primero las dudosas</p>" not in one]
        if path == "Chat":
            ask(page, ANSWERED)
            page.locator("[class*='st-key-sources-']").last.wait_for()
            settle(page)
            page.locator("[class*='st-key-sources-']").last.get_by_role("button").click()
            page.locator(".st-key-source-pane").wait_for()
            settle(page)
            found += findings(page, "an answer")
    context.close()
    return Walked(found, said)


@pytest.mark.slow
def test_no_page_has_a_finding(walked: Walked) -> None:
    assert not walked.found, "\n".join(walked.found)


@pytest.mark.slow
def test_no_page_does_what_the_policy_forbids(walked: Walked) -> None:
    """Lists, charts, tables, tabs and an answer."""
    # Streamlit asks below the page for files that are above it, before it asks where they are.
    told = [line for line in walked.said if "404" not in line]
    assert [line for line in told if "Content Security Policy" in line or " error: " in line] == []


def findings(page: Any, where: str) -> list[str]:
    """One line for each element with a finding; the page is left in the other theme, whose colours are judged, too."""
    found = violations(page, where)
    other = "light" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "dark"
    page.emulate_media(color_scheme=other)
    page.wait_for_function(
        "scheme => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme", arg=other
    )
    for _ in range(10):  # what is drawn anew may have colours of both themes for a while
        if not (wrong := violations(page, f"{where}, {other}", runOnly=COLOURS)):
            break
        settle(page)
    return found + wrong


def violations(page: Any, where: str, **options: Any) -> list[str]:
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("options => axe.run({resultTypes: ['violations'], ...options})", options)["violations"]
    return [
        f"{where}: {finding['id']}: {finding['impact']}: {node['html'][:120]}"
        for finding in found
        for node in finding["nodes"]
        if not any(finding["id"] == rule and part in node["html"] for rule, part in OF_STREAMLIT)
    ]


def test_the_check_sees_what_is_wrong(browser: Any) -> None:
    page = browser.new_context().new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><button></button></main></html>")
    assert [line.split(": ")[1] for line in violations(page, "page")] == ["button-name"]
    page.context.close()
