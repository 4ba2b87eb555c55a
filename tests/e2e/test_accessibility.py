"""What axe-core finds on every page: nothing serious, in the light theme and in the dark one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.test_tour import ask, settle, visit
from tests.e2e.visitors import become

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("views")]

SERIOUS = ("serious", "critical")
SESSION = "0" * 31 + "e"
PAGES = ("", "Chat", "Evaluacion", "Admin", "Evaluar_mi_KB")


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose folder holds a knowledge base with a set of questions, and two runs with answers."""
    data_dir = tmp_path_factory.mktemp("worked_in")
    settings = load_settings(data_dir=data_dir, eval_max_queries=10, provider="demo", retrieval_strategy="LEXICAL")
    app = build_app(settings)
    kb_id = app.kbs.add_sample().kb_id
    app.question_sets.save(replace(app.kb_evaluation.propose_now(kb_id, count=8), name="propuestas"))
    conversation = app.chat.start(SESSION, kb_id, "kb")
    asked = app.chat.begin(
        SESSION, conversation, "¿Cuántos días laborables de vacaciones tiene cada persona?", UserContext()
    )
    assert asked.join(60)
    for strategy in ("LEXICAL", "BRIDGE"):
        app.runs.run_now(retrieval_strategy=strategy)
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(browser, worked_in, scheme) -> None:  # type: ignore[no-untyped-def]
    """Nor has any tab and view, or an answer with its passage open."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(SOON_MS)
    page = context.new_page()
    found: list[str] = []
    runs = sorted(path.name for path in (worked_in.data_dir / "results").iterdir())
    views = (
        "Evaluacion?view=leaderboard",
        "Evaluacion?view=history",
        f"Evaluacion?run={runs[0]}",
        f"Evaluacion?compare={','.join(runs)}",
    )
    for path in (*PAGES, *views):
        visit(page, worked_in, path)
        found += serious(page, path)
        for tab in page.get_by_role("tab").all():
            tab.click()
            settle(page)
            found += serious(page, f"{path} {tab.inner_text()}")
        if path == "Evaluar_mi_KB":
            become(page, worked_in, SESSION)
            visit(page, worked_in, path)
            page.get_by_text("3. Revisar el chat").click()
            page.get_by_role("textbox", name="Su nombre").fill("Ana")
            page.get_by_role("button", name="Empezar a revisar").click()
            page.locator(".st-key-review-item").wait_for()
            settle(page)
            found += serious(page, "the review")
        if path == "Chat":
            ask(page, "¿Cuántos días laborables de vacaciones tiene cada persona?")
            page.locator("[class*='st-key-sources-']").wait_for()
            settle(page)
            page.locator("[class*='st-key-sources-']").get_by_role("button").click()
            page.locator(".st-key-source-pane").wait_for()
            settle(page)
            found += serious(page, "an answer")
    context.close()
    assert found == []


def serious(page, where: str) -> list[str]:  # type: ignore[no-untyped-def]
    """One line for each element with a serious finding."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return [
        f"{where}: {finding['id']}: {node['html'][:120]}"
        for finding in violations
        if finding["impact"] in SERIOUS
        for node in finding["nodes"]
    ]


def test_the_check_sees_what_is_wrong(browser) -> None:  # type: ignore[no-untyped-def]
    page = browser.new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><button></button></main></html>")
    assert [line.split(": ")[1] for line in serious(page, "page")] == ["button-name"]
    page.close()
