"""What the Content-Security-Policy forbids does not happen; that no page needs it is seen in ``test_accessibility``."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.e2e.conftest import Server
from tests.e2e.test_tour import visit
from tests.loopback import LoopbackServer

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("views")]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("policy"), RETRIEVAL_STRATEGY="LEXICAL", PROVIDER="demo")
    running.start()
    yield running
    running.kill()


@pytest.mark.slow
def test_a_page_of_another_site_cannot_show_ours_in_a_frame(page: Any, empty: Server) -> None:
    page.goto("about:blank")  # of no origin, as a file that somebody opens
    page.set_content(f"<iframe src='{empty.url}/Chat'></iframe>")
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
def test_only_a_page_of_the_same_port_opens_the_socket(page: Any, empty: Server) -> None:
    """A browser sends the visitor's cookie to all ports of a host."""
    address = f"ws://127.0.0.1:{empty.port}/_stcore/stream"
    visit(page, empty, "Chat")
    assert page.evaluate(_OPENS, address) == "open"
    with LoopbackServer(_Neighbour) as neighbour:
        page.goto(neighbour.url)
        assert page.evaluate(_OPENS, address) == "closed 1006"
