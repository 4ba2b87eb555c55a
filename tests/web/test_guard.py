"""What the server of the pages sends with each reply, over real HTTP, and who may open the pages' WebSocket."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Message, Scope

from chatbot_mvp.settings.model import load_settings
from streamlit_app.web import guard
from tests.ui.test_start_of_pages import FROM_NOTHING, Pages, first_page, needs_proc, pages

HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    data_dir = tmp_path_factory.mktemp("pages")
    with pages(data_dir, "/", *FROM_NOTHING, RETRIEVAL_STRATEGY="LEXICAL", TRUSTED_PROXIES="") as running:
        yield running


def reply(started: Pages, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    found = connection.getresponse()
    found.read()
    connection.close()
    return found


@pytest.mark.parametrize("path", ["/", "/Chat", "/nowhere", "/_stcore/health", "/static/js/none.js", "/media/none"])
def test_every_reply_has_the_headers_that_guard_a_browser(started: Pages, path: str) -> None:
    found = reply(started, path)
    assert {name: found.getheader(name) for name in HEADERS} == HEADERS
    policy = str(found.getheader("Content-Security-Policy"))
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    scripts = re.search("script-src ([^;]*)", policy)
    assert scripts is not None and "unsafe" not in scripts[1]


def test_the_cookie_comes_with_pages_alone_and_stays_the_same(started: Pages) -> None:
    cookie = str(reply(started, "/Chat").getheader("Set-Cookie"))
    assert re.fullmatch(
        r"chatbot_visitor_\w{8}=\w{32}\.\w{64}; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax", cookie
    )
    for path in ("/_stcore/health", "/_stcore/host-config", "/favicon.png"):
        assert "chatbot_visitor" not in str(reply(started, path).getheader("Set-Cookie"))
    given = cookie.partition(";")[0]
    assert str(reply(started, "/Evaluacion", Cookie=given).getheader("Set-Cookie")).startswith(given)
    others = f"a=b; bad name=; {given}; _streamlit_xsrf=2|x|y|1"
    assert str(reply(started, "/", Cookie=others).getheader("Set-Cookie")).startswith(given)
    altered = given[:-1] + ("0" if given[-1] != "0" else "1")
    assert altered not in str(reply(started, "/", Cookie=altered).getheader("Set-Cookie"))
    assert given not in str(reply(started, "/").getheader("Set-Cookie"))


def test_a_page_that_the_browser_has_already_renews_the_cookie(started: Pages) -> None:
    first = reply(started, "/")
    again = reply(started, "/", If_None_Match=str(first.getheader("ETag")), Sec_Fetch_Dest="document")
    assert again.status == 304
    assert "chatbot_visitor" in str(again.getheader("Set-Cookie"))


@needs_proc
def test_home_and_chat_load_no_library_of_charts_and_tables(started: Pages) -> None:
    for page in ("", "Chat"):
        _, shown = first_page(started.port, f"127.0.0.1:{started.port}", page=page)
    assert "Aquí hace falta una base" in shown  # Chat, drawn as far as it goes without one
    loaded = Path(f"/proc/{started.pid}/maps").read_text()
    assert "/numpy/" in loaded
    assert [name for name in ("pandas", "pyarrow", "onnxruntime") if f"/{name}/" in loaded] == []


@pytest.mark.parametrize(("proto", "secure"), [("https", True), ("http", False), ("", False)])
def test_a_cookie_that_was_asked_for_by_https_is_sent_by_https_only(started: Pages, proto: str, secure: bool) -> None:
    cookie = str(reply(started, "/", **({"X_Forwarded_Proto": proto} if proto else {})).getheader("Set-Cookie"))
    assert cookie.endswith("; Secure") is secure


SITE = {"host": "chat.example.org"}
BY_TLS = {**SITE, "x-forwarded-proto": "https"}


@pytest.mark.parametrize(
    ("headers", "accepted"),
    [
        ({**BY_TLS, "origin": "https://chat.example.org"}, True),
        ({**BY_TLS, "origin": "http://chat.example.org"}, False),  # port 80 of the site, perhaps another server's
        ({**BY_TLS, "origin": "https://chat.example.org:8443"}, False),
        ({**SITE, "origin": "https://chat.example.org"}, True),  # a proxy that does not tell of TLS
        ({**SITE, "origin": "http://chat.example.org"}, True),
        ({"host": "chat.example.org:8443", "origin": "https://chat.example.org:8443"}, True),
        ({**SITE, "origin": "http://["}, False),
        ({**SITE, "origin": ""}, False),
        (BY_TLS, True),  # no browser
        ({"host": "evil.example", "origin": "http://evil.example"}, False),
        ({"origin": "https://chat.example.org"}, False),
        ({**SITE, "origin": "https://portal.example"}, True),  # Streamlit's own option
    ],
)
def test_behind_a_proxy_only_the_site_opens_the_socket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, headers: dict[str, str], accepted: bool
) -> None:
    settings = load_settings(data_dir=tmp_path, allowed_hosts="chat.example.org", trusted_proxies="10.0.0.2")
    monkeypatch.setattr(guard, "load_settings", lambda: settings)
    options = {"server.corsAllowedOrigins": ["https://portal.example"], "server.enableCORS": True}
    monkeypatch.setattr(guard, "get_option", lambda name: options.get(name, "127.0.0.1"))
    reached: list[str] = []

    async def streamlit(scope: Scope, *_: object) -> None:
        reached.append(scope["type"])

    async def send(message: Message) -> None:
        assert message["type"] == "websocket.close"

    scope = {
        "type": "websocket",
        "scheme": "ws",
        "client": ("10.0.0.2", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    # Nothing in it waits, so no event loop is needed: a browser's may run in this thread.
    with pytest.raises(StopIteration):
        guard.PageGuard(streamlit)(scope, None, send).__await__().send(None)  # type: ignore[arg-type]
    assert (reached == ["websocket"]) is accepted


@pytest.mark.slow
def test_the_key_is_readable_by_the_server_alone_and_kept(tmp_path: Path) -> None:
    with pages(tmp_path, "/", RETRIEVAL_STRATEGY="LEXICAL") as running:
        given = str(reply(running, "/").getheader("Set-Cookie")).partition(";")[0]
    assert (tmp_path / "visitor.key").stat().st_mode & 0o777 == 0o600
    with pages(tmp_path, "/", RETRIEVAL_STRATEGY="LEXICAL") as running:
        assert str(reply(running, "/", Cookie=given).getheader("Set-Cookie")).startswith(given)
