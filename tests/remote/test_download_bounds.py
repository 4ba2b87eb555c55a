"""A download takes no more of the disk than its server said, and leaves nothing on one that is full."""

from __future__ import annotations

import errno
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.errors import ChatbotError, DatasetNotReceived
from chatbot_mvp.remote import download as module
from chatbot_mvp.remote.download import download
from tests.loopback import LoopbackServer


class _Server(BaseHTTPRequestHandler):
    """Answers a part with what its header says: the size of the whole file and more of it."""

    stated = 10
    sent = 100_000
    taken = 0

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.send_response(206 if asked else 200)
        self.send_header("ETag", '"a"')
        if asked:
            self.send_header("Content-Range", f"bytes 4-9/{self.stated}")
        self.end_headers()
        self.wfile.write(b"a" * self.sent)
        type(self).taken = self.sent

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def failed(reason: str) -> ChatbotError:
    return DatasetNotReceived("download_failed", url="URL", reason=reason)


def test_more_than_the_server_said_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    (tmp_path / "file.part").write_bytes(b"abcd")
    (tmp_path / "file.etag").write_text('"a"')
    monkeypatch.setattr(_Server, "sent", 50_000_000)
    monkeypatch.setattr(module, "_TRIES", 1)
    with LoopbackServer(_Server) as server, pytest.raises(ChatbotError, match="is not the file"):
        download(server.url, target, failed, pause=0)
    assert _Server.taken == 0
    assert not (tmp_path / "file.part").exists()


def test_a_full_disk_keeps_no_part(tmp_path: Path) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with LoopbackServer(_Server) as server, pytest.raises(ChatbotError, match="cannot be kept"):
        download(server.url, tmp_path / "file", failed, full, pause=0)
    assert list(tmp_path.iterdir()) == []
