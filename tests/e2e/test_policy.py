"""No page needs what the Content-Security-Policy forbids, and what it forbids does not happen."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
from tests.e2e.conftest import Server
from tests.e2e.test_tour import ask, settle, visit
from tests.loopback import LoopbackServer

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("views")]


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data_dir = tmp_path_factory.mktemp("policy")
    app = build_app(load_settings(data_dir=data_dir, provider="demo", retrieval_strategy="LEXICAL"))
    app.kbs.add_sample()
    for strategy in ("LEXICAL", "BRIDGE"):
        app.runs.run_now(retrieval_strategy=strategy)
    running = Server(data_dir, RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.mark.slow
def test_no_page_does_what_the_policy_forbids(page: Any, worked_in: Server) -> None:
    """Lists, charts, tables, tabs, an upload and an answer."""
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{page.url} {message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"{page.url} error: {error}"))
    runs = sorted(path.name for path in (worked_in.data_dir / "results").iterdir())
    views = ("leaderboard", "history")
    for path in (
        "",
        "Evaluacion",
        *(f"Evaluacion?view={view}" for view in views),
        f"Evaluacion?run={runs[0]}",
        f"Evaluacion?compare={','.join(runs)}",
        "Admin",
        "Evaluar_mi_KB",
        "Chat",
    ):
        visit(page, worked_in, path)
        for tab in page.get_by_role("tab").all():
            tab.click()
            settle(page)
    ask(page, "¿Cuántos días laborables de vacaciones tiene cada persona?")
    page.locator("[class*='st-key-sources-']").wait_for()
    settle(page)
    # Streamlit asks below the page for files that are above it, before it asks where they are.
    wrong = [line for line in said if ("Content Security Policy" in line or " error: " in line) and "404" not in line]
    assert wrong == []


@pytest.mark.slow
def test_a_page_of_another_site_cannot_show_ours_in_a_frame(page: Any, worked_in: Server) -> None:
    page.goto("about:blank")  # of no origin, as a file that somebody opens
    page.set_content(f"<iframe src='{worked_in.url}/Chat'></iframe>")
    page.wait_for_timeout(3_000)
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]


class _Neighbour(BaseHTTPRequestHandler):
    """A page of another server of this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


_OPENS = """address => new Promise(done => {
    const socket = new WebSocket(address, ["streamlit"]);
    socket.onopen = () => done("open");
    socket.onclose = event => done(`closed ${event.code}`);
})"""


@pytest.mark.slow
def test_only_a_page_of_the_same_port_opens_the_socket(page: Any, worked_in: Server) -> None:
    """A browser sends the visitor's cookie to all ports of a host."""
    address = f"ws://127.0.0.1:{worked_in.port}/_stcore/stream"
    visit(page, worked_in, "Chat")
    assert page.evaluate(_OPENS, address) == "open"
    with LoopbackServer(_Neighbour) as neighbour:
        page.goto(neighbour.url)
        assert page.evaluate(_OPENS, address) == "closed 1006"
