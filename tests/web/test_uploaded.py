"""Files that no page takes: bounded while the page is open, and released when it is left or closed."""

from __future__ import annotations

import http.client
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from streamlit_app.web.uploaded import MOST_PAGE_MB, MOST_SERVER_MB
from tests.ui.test_start_of_pages import Pages, pages
from tests.waiting import wait_until

FILE_MB, FILES = 9, 40
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")


@contextmanager
def opened(started: Pages, page: str) -> Iterator[tuple[str, ClientConnection]]:
    """A page as a browser opens it: Streamlit's id of its session, and the connection."""
    with connect(
        f"ws://127.0.0.1:{started.port}/_stcore/stream",
        subprotocols=["streamlit"],  # type: ignore[list-item]
        max_size=None,
    ) as session:
        yield drawn(session, page), session


def drawn(session: ClientConnection, page: str) -> str:
    """Go to a page and wait until it is drawn; return Streamlit's id of the session."""
    message, session_id = BackMsg(), ""
    message.rerun_script.page_name = page
    session.send(message.SerializeToString())
    while True:
        received = ForwardMsg()
        received.ParseFromString(session.recv(30))  # type: ignore[arg-type]
        if received.WhichOneof("type") == "new_session":
            session_id = received.new_session.initialize.session_id
        if received.WhichOneof("type") == "script_finished":
            return session_id


def send(started: Pages, session_id: str, size: int) -> tuple[int, str]:
    """Send a file of zeros as the page's box does; return status and text of the reply."""
    head = '--b\r\nContent-Disposition: form-data; name="f"; filename="f.bin"\r\n\r\n'
    body = head.encode() + bytes(size) + b"\r\n--b--\r\n"
    connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=30)
    place = f"/_stcore/upload_file/{session_id}/{uuid.uuid4()}"
    connection.request("PUT", place, body, {"Content-Type": "multipart/form-data; boundary=b"})
    reply = connection.getresponse()
    found = reply.status, reply.read().decode()
    connection.close()
    return found


def resident_mb(started: Pages) -> float:
    lines = Path(f"/proc/{started.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1000


def unused_mb(started: Pages) -> float:
    """What the server says of the files in its memory, some seconds late."""
    connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=30)
    connection.request("GET", "/_stcore/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    return sum(float(line.split()[-1]) for line in lines if "UploadedFileManager" in line) / 1e6


@needs_proc
@pytest.mark.slow
def test_unused_files_are_bounded_and_released(tmp_path: Path) -> None:
    settings = {"RETRIEVAL_STRATEGY": "LEXICAL", "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false"}
    with pages(tmp_path, "/", **settings) as started:
        with opened(started, "Admin") as (session_id, session):
            drawn(session, "Chat")
            drawn(session, "Admin")
            before = resident_mb(started)
            replies = [send(started, session_id, FILE_MB * 1_000_000) for _ in range(FILES)]
            taken = [status for status, _ in replies if status == 204]
            print(f"{len(taken)} of {FILES} files taken, +{resident_mb(started) - before:.0f} MB")
            assert len(taken) == 27
            assert resident_mb(started) - before < 300
            status, text = replies[-1]
            assert status == 413
            assert "250 MB" in text and "Quite algunos" in text and "Remove some" in text
            drawn(session, "Chat")
            for _ in range(20):  # there is room again
                assert send(started, session_id, FILE_MB * 1_000_000)[0] == 204
            wait_until(lambda: unused_mb(started) == 20 * FILE_MB, 60, "the files of the next page", 0.5)
        wait_until(lambda: unused_mb(started) == 0, 60, "the release of the files of the page that was closed", 0.5)


@pytest.mark.slow
def test_all_pages_together_are_bounded(tmp_path: Path) -> None:
    settings = {"RETRIEVAL_STRATEGY": "LEXICAL", "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false"}
    with pages(tmp_path, "/", **settings) as started, ExitStack() as stack:
        replies = []
        for _ in range(MOST_SERVER_MB // MOST_PAGE_MB + 1):
            session_id, _ = stack.enter_context(opened(started, "Admin"))
            replies += [send(started, session_id, 80_000_000) for _ in range(3)]
        taken = [status for status, _ in replies if status == 204]
        assert len(taken) == MOST_SERVER_MB // 80
        assert "este servidor" in replies[-1][1] and f"{MOST_SERVER_MB} MB" in replies[-1][1]
