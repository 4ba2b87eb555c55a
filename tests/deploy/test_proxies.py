"""The proxies of ``deploy/``: TLS, the host, the address of the client, words of a stream, and the pages' WebSocket."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.browser import CHROMIUM
from tests.deploy.proxies import PROXIES, SITE, proxy
from tests.loopback import LoopbackServer
from tests.ui.test_start_of_pages import pages


class _Stub(BaseHTTPRequestHandler):
    """Answers with what it was sent; below /v1/ in two pieces, the second when the first has been read."""

    protocol_version = "HTTP/1.1"
    first_was_read = threading.Event()

    def do_GET(self) -> None:
        said = json.dumps({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}}).encode()
        self.send_response(200)
        if self.path.startswith("/v1/"):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"data: first\n\n")
            in_time = self.first_was_read.wait(8)
            self.wfile.write(b"data: second\n\n" if in_time else b"data: held back\n\n")
            self.close_connection = True
            return
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def connection(port: int, folder: Path) -> http.client.HTTPSConnection:
    """A connection to the site under its name, as a browser with the site's address has it."""
    site = http.client.HTTPSConnection(SITE, port, timeout=20)
    trusting = ssl.create_default_context(cafile=str(folder / "own.pem"))
    site.sock = trusting.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname=SITE)
    return site


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_passes_the_host_and_the_true_address_and_holds_back_no_word(name: str, tmp_path: Path) -> None:
    with (
        LoopbackServer(_Stub) as for_pages,
        LoopbackServer(_Stub) as for_programs,
        proxy(name, tmp_path, for_pages.server_port, for_programs.server_port) as port,
    ):
        site = connection(port, tmp_path)
        host = f"{SITE}:{port}"
        site.request("GET", "/Chat", headers={"Host": host, "X-Forwarded-For": "203.0.113.7"})
        reply = site.getresponse()
        seen = json.loads(reply.read())
        assert (seen["path"], seen["host"], seen["x-forwarded-for"]) == ("/Chat", host, "127.0.0.1")
        assert "max-age" in str(reply.getheader("Strict-Transport-Security"))
        assert reply.getheader("X-Frame-Options") == "SAMEORIGIN"
        assert reply.getheader("X-Content-Type-Options") == "nosniff"
        assert reply.getheader("Referrer-Policy") == "same-origin"
        assert "frame-ancestors 'self'" in str(reply.getheader("Content-Security-Policy"))

        _Stub.first_was_read.clear()
        site.request("GET", "/v1/chat", headers={"Host": host})
        stream = site.getresponse()
        assert stream.read(len("data: first\n\n")) == b"data: first\n\n"
        _Stub.first_was_read.set()
        assert b"second" in stream.read()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PROXIES)
def test_behind_a_proxy_each_header_comes_once_and_the_cookie_is_for_https_alone(name: str, tmp_path: Path) -> None:
    settings = {"ALLOWED_HOSTS": SITE, "TRUSTED_PROXIES": "127.0.0.1"}
    data, work = tmp_path / "data", tmp_path / "proxy"
    data.mkdir()
    work.mkdir()
    with pages(data, "/", **settings) as started, proxy(name, work, started.port, started.port) as port:
        site = connection(port, work)
        site.request("GET", "/Chat", headers={"Host": f"{SITE}:{port}"})
        reply = site.getresponse()
        headers = [(name.lower(), value) for name, value in reply.getheaders()]
        for once in ("x-frame-options", "x-content-type-options", "referrer-policy"):
            assert [name for name, _ in headers].count(once) == 1
        assert any("script-src" in value for name, value in headers if name == "content-security-policy")
        [cookie] = [value for name, value in headers if name == "set-cookie" and "chatbot_visitor" in value]
        assert cookie.endswith("; HttpOnly; SameSite=Lax; Secure")


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.parametrize("name", PROXIES)
def test_the_pages_answer_a_browser_through_tls_under_the_name_of_the_site(
    name: str,
    tmp_path: Path,
    playwright: Any,
) -> None:
    settings = {"ALLOWED_HOSTS": SITE, "TRUSTED_PROXIES": "127.0.0.1", "RETRIEVAL_STRATEGY": "LEXICAL"}
    data, work = tmp_path / "data", tmp_path / "proxy"
    data.mkdir()
    work.mkdir()
    there = [f"--host-resolver-rules=MAP {SITE} 127.0.0.1", "--no-sandbox", "--disable-gpu"]
    with (
        pages(data, "/", **settings) as started,
        proxy(name, work, started.port, started.port) as port,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=there)
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(60_000)
        sockets: list[str] = []
        page.on("websocket", lambda opened: sockets.append(opened.url))
        page.goto(f"https://{SITE}:{port}/")
        page.get_by_role("button", name="Visita guiada").click()
        page.get_by_role("button", name="Cargar el manual de ejemplo").click()
        page.get_by_role("button", name="Abrir el chat con una pregunta").click()
        page.get_by_role("textbox", name="Pregunte algo sobre el documento").fill("¿Cuántos días de vacaciones hay?")
        page.keyboard.press("Enter")
        page.get_by_text("23 días").first.wait_for()
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"{name}.png")
        browser.close()
    assert sockets
    assert all(url.startswith(f"wss://{SITE}:{port}/") for url in sockets)
