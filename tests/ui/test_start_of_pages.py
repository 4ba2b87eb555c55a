"""The pages as a real server process: where they listen, what they send, and under which names they answer."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import streamlit
from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server import server_util
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from streamlit_app.web.outside import stay_on_this_machine
from tests import loaded
from tests.loopback import free_port
from tests.waiting import wait_until

ENTRY = Path(__file__).resolve().parents[2] / "streamlit_app" / "Inicio.py"
FROM_NOTHING = ("-m", "streamlit", "run", str(ENTRY), "--server.port", "PORT")
"""A command for ``pages``: a process that has loaded nothing yet."""


@dataclass(frozen=True)
class Pages:
    port: int
    pid: int
    log: Path


@contextmanager
def pages(data_dir: Path, cwd: str, *command: str, **settings: str) -> Iterator[Pages]:
    """`streamlit run`, or another command, until the block ends; nothing of this machine's configuration.

    Args:
        command: what ``python`` runs. Without it, the pages are a copy of a process that is loaded already.
    """
    port, log = free_port(), data_dir / "pages.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    environment |= {"DATA_DIR": str(data_dir), "HOME": str(data_dir), "PYTHONPATH": str(ENTRY.parents[1]), **settings}
    process: loaded.Started | subprocess.Popen[bytes]
    if command:
        arguments = [part.replace("PORT", str(port)) for part in command]
        with log.open("wb") as out:
            process = subprocess.Popen([sys.executable, *arguments], cwd=cwd, env=environment, stdout=out, stderr=out)
    else:
        start = ("streamlit", "run", str(ENTRY), "--server.port", str(port))
        process = loaded.start(start, Path(cwd), environment, log)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return True
        except OSError:
            return False

    try:
        wait_until(answers, 60, "the pages", 0.1)
        yield Pages(port, process.pid, log)
    finally:
        process.kill()
        process.wait(10)


def addresses(port: int) -> set[str]:
    """The addresses that something listens on with this port, in hexadecimal: "0100007F" is 127.0.0.1."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            address, _, hexadecimal = local.partition(":")
            if state == "0A" and int(hexadecimal, 16) == port:
                found.add(address)
    return found


def first_page(port: int, host: str, origin: str = "", page: str = "") -> tuple[bool, str]:
    """Open a session as a browser does: (whether it would send statistics, everything that the page shows)."""
    shown: list[str] = []
    statistics = False
    with connect(
        f"ws://{host}/_stcore/stream",
        sock=socket.create_connection(("127.0.0.1", port)),
        origin=origin or None,  # type: ignore[arg-type]
        subprotocols=["streamlit"],  # type: ignore[list-item]
        max_size=None,
    ) as session:
        rerun = BackMsg()
        rerun.rerun_script.query_string = ""
        rerun.rerun_script.page_name = page
        session.send(rerun.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(session.recv(30))  # type: ignore[arg-type]
            kind = message.WhichOneof("type")
            if kind == "new_session":
                statistics = message.new_session.config.gather_usage_stats
            shown.append(str(message))
            if kind == "script_finished":
                return statistics, "\n".join(shown)


def opened(port: int, host: str) -> tuple[int, str]:
    """The status and text of a page, as a browser asks for it without TLS."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/", headers={"Host": host, "Accept": "text/html,*/*"})
    reply = connection.getresponse()
    return reply.status, reply.read().decode()


needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")


@pytest.mark.slow
@needs_proc
def test_pages_start_from_a_checkout_whose_packages_are_not_installed(tmp_path: Path) -> None:
    """Without ``site`` no editable install is seen: the path has the other packages, and Inicio.py finds its own."""
    packages = str(Path(streamlit.__file__).parents[1])
    start = ("-S", *FROM_NOTHING)
    absent = [sys.executable, "-S", "-c", "import streamlit_app"]
    environment = {**os.environ, "PYTHONPATH": packages}
    assert subprocess.run(absent, cwd="/", env=environment, capture_output=True, check=False).returncode == 1
    with pages(tmp_path, "/", *start, PYTHONPATH=packages, ADMIN_PASSWORD="") as started:
        assert addresses(started.port) == {"0100007F"}
        _, shown = first_page(started.port, f"127.0.0.1:{started.port}")
        assert "Visita guiada" in shown
        assert "ModuleNotFoundError" not in started.log.read_text() + shown


@needs_proc
def test_pages_started_from_anywhere_listen_on_loopback_send_no_statistics_and_know_their_name(tmp_path: Path) -> None:
    with pages(tmp_path, "/", *FROM_NOTHING, ADMIN_PASSWORD="") as started:
        assert addresses(started.port) == {"0100007F"}
        statistics, shown = first_page(started.port, f"127.0.0.1:{started.port}")
        assert not statistics
        assert "ALLOWED_HOSTS" not in shown
        assert "Cotejo" in shown
        # A page that points its own name to this machine is of the same origin.
        evil = f"evil.example:{started.port}"
        status, said = opened(started.port, evil)
        assert status == 403
        assert "ALLOWED_HOSTS" in said
        for host, origin in (
            (evil, f"http://{evil}"),
            (evil, ""),
            (f"127.0.0.1:{started.port}", "http://evil.example"),
            # Other servers of this machine.
            (f"127.0.0.1:{started.port}", "http://127.0.0.1:1"),
            (f"127.0.0.1:{started.port}", "http://127.0.0.1"),
            (f"127.0.0.1:{started.port}", f"http://localhost:{started.port}"),
            (f"127.0.0.1:{started.port}", "null"),
        ):
            with pytest.raises(InvalidStatus, match="403"):
                first_page(started.port, host, origin)
        for host in ("127.0.0.1", "localhost", "[::1]"):
            assert opened(started.port, f"{host}:{started.port}")[0] == 200
            _, shown = first_page(started.port, f"{host}:{started.port}", f"http://{host}:{started.port}")
            assert "navigation" in shown
        assert "statistics" not in started.log.read_text()


def test_a_page_of_another_site_is_refused_without_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(net_util, "_make_blocking_http_get", lambda url, **_: asked.append(url))
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, getattr(net_util, name))  # as it was, after the test
    stay_on_this_machine()
    assert not server_util.is_url_from_allowed_origins("http://evil.example")
    assert server_util.is_url_from_allowed_origins("http://localhost:8501")
    assert asked == []


@needs_proc
@pytest.mark.slow
def test_the_command_ui_starts_the_pages_from_anywhere(tmp_path: Path) -> None:
    with pages(tmp_path, "/", "-m", "chatbot_mvp.cli", "ui", "--port", "PORT") as started:
        assert addresses(started.port) == {"0100007F"}
        statistics, shown = first_page(started.port, f"localhost:{started.port}")
        assert not statistics
        assert "Cotejo" in shown


def wrong_password(port: int, forwarded_for: str) -> str:
    """Send a wrong password in a new session, as a client that claims this address, and return the page's reply."""
    with connect(
        f"ws://127.0.0.1:{port}/_stcore/stream",
        additional_headers={"X-Forwarded-For": forwarded_for},
        subprotocols=["streamlit"],  # type: ignore[list-item]
        max_size=None,
    ) as session:
        widgets = {e.WhichOneof("type"): e for e in elements(session, BackMsg()) if is_of_the_form(e)}
        message = BackMsg()
        states = message.rerun_script.widget_states.widgets
        text, button = states.add(), states.add()
        text.id, text.string_value = widgets["text_input"].text_input.id, "equivocada"
        button.id, button.trigger_value = widgets["button"].button.id, True
        return "\n".join(e.alert.body for e in elements(session, message) if e.WhichOneof("type") == "alert")


def is_of_the_form(element: Element) -> bool:
    kind = element.WhichOneof("type")
    return kind == "text_input" or (kind == "button" and element.button.is_form_submitter)


def elements(session: ClientConnection, message: BackMsg) -> list[Element]:
    """Run Admin with a message of the browser, and return what it draws."""
    message.rerun_script.page_name = "Admin"
    session.send(message.SerializeToString())
    drawn = []
    while True:
        received = ForwardMsg()
        received.ParseFromString(session.recv(30))  # type: ignore[arg-type]
        if received.WhichOneof("type") == "script_finished":
            return drawn
        if received.WhichOneof("type") == "delta" and received.delta.WhichOneof("type") == "new_element":
            drawn.append(received.delta.new_element)


@pytest.mark.slow
@pytest.mark.parametrize(("trusted", "slowed"), [("", True), ("127.0.0.1", False)])
def test_a_forged_address_does_not_escape_the_wait_after_wrong_passwords(
    tmp_path: Path, trusted: str, slowed: bool
) -> None:
    with pages(tmp_path, "/", ADMIN_PASSWORD="correcta-y-larga", TRUSTED_PROXIES=trusted) as started:
        replies: list[str] = []
        # A wait grows with each try, so that in the end it is longer than a try on any machine.
        while len(replies) < (14 if slowed else 8) and not (replies and "Espere" in replies[-1]):
            replies.append(wrong_password(started.port, f"203.0.113.{len(replies)}"))
    assert all("contraseña" in reply for reply in replies)
    assert ("Espere" in replies[-1]) is slowed
