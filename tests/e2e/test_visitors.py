"""Whose conversations a browser finds: those of its own cookie, and of nothing that a link or a forger brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from streamlit_app.web.visitor import VisitorCookie
from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.test_tour import DOCUMENT, ask, settle, visit

pytestmark = [pytest.mark.e2e]

QUESTION = "¿Cuántos libros puede llevarse cada lector?"
CHOSEN = "a" * 32


@pytest.fixture(scope="module", params=["streamlit", pytest.param("streamlit_app", marks=pytest.mark.slow)])
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Started in both ways; each test brings browsers of its own."""
    data_dir = tmp_path_factory.mktemp("visitors")
    settings = load_settings(data_dir=data_dir)
    KbStore(settings.kb_dir).add("biblioteca.md", DOCUMENT.encode(), settings.kb_max_chars, settings.kb_max_upload_mb)
    running = Server(data_dir, "-m", request.param, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.fixture
def people(browser: Any) -> Iterator[Any]:
    """Makes browsers that know nothing of each other."""
    contexts = []

    def person() -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(SOON_MS)
        contexts.append(context)
        return context.new_page()

    yield person
    for context in contexts:
        context.close()


def asked(page: Any) -> bool:
    """Whether the page shows the question as one that was asked."""
    settle(page)
    return bool(page.locator("[data-testid='stChatMessage']").filter(has_text=QUESTION).count())


def own_cookie(page: Any) -> dict[str, Any]:
    [cookie] = [one for one in page.context.cookies() if one["name"].startswith("chatbot_visitor_")]
    return dict(cookie)


def put_question(page: Any) -> None:
    ask(page, QUESTION)
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)


@pytest.mark.slow
def test_who_sent_a_link_does_not_read_the_questions_of_who_opened_it(people: Any, started: Server) -> None:
    attacker, victim = people(), people()
    link = f"Chat?s={CHOSEN}"
    visit(victim, started, link)
    put_question(victim)
    visit(attacker, started, link)
    assert not asked(attacker)
    assert not (started.data_dir / "conversations" / CHOSEN).exists()
    # What the victim sees in its address bar, sent on, opens nothing either.
    attacker.goto(victim.url)
    assert not asked(attacker)


@pytest.mark.slow
def test_a_reload_a_bookmark_another_page_and_a_restart_keep_the_conversation(people: Any, started: Server) -> None:
    page, other = people(), people()
    visit(page, started, "Chat")
    put_question(page)
    assert "s=" not in page.url
    page.reload()
    assert asked(page)
    page.get_by_role("link", name="Evaluación").click()
    settle(page)
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("heading", name="Chat").wait_for()
    assert asked(page)
    bookmark = page.context.new_page()
    visit(bookmark, started, "Chat")
    assert asked(bookmark)
    started.kill()
    started.start()
    visit(page, started, "Chat")
    assert asked(page)
    visit(other, started, "Chat")
    assert not asked(other)


@pytest.mark.slow
def test_the_first_visit_after_a_start_is_the_visitors_last_too(people: Any, started: Server) -> None:
    """The cookie comes with the page itself, before its script runs."""
    started.kill()
    started.start()
    page = people()
    visit(page, started, "Chat")
    put_question(page)
    page.reload()
    assert asked(page)


@pytest.mark.slow
def test_the_cookie_is_for_the_server_alone_and_an_altered_one_is_nobodys(people: Any, started: Server) -> None:
    page, forger = people(), people()
    visit(page, started, "Chat")
    put_question(page)
    cookie = own_cookie(page)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"], cookie["path"]) == (True, "Lax", False, "/")
    assert page.evaluate("document.cookie").find("chatbot_visitor") == -1
    name, _, signature = cookie["value"].partition(".")
    flipped = signature[:-1] + ("0" if signature[-1] != "0" else "1")
    foreign = VisitorCookie(b"x" * 32).value(name)
    for forged in (name, f"{name}.", f"{name}.{flipped}", foreign, f"{CHOSEN}.{signature}", f"../{name}.{signature}"):
        forger.context.clear_cookies()
        forger.context.add_cookies([{"name": cookie["name"], "value": forged, "url": started.url}])
        visit(forger, started, "Chat")
        assert not asked(forger), forged
        assert own_cookie(forger)["value"] != forged, "a new name takes its place"
    assert (started.data_dir / "visitor.key").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in (started.data_dir / "conversations").iterdir()}.isdisjoint({CHOSEN})
