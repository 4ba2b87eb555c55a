"""A loopback server of files with ranges, redirects and checksums as the public hub has them, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import socket
from collections import deque
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.loopback import LoopbackServer


class HubStub(LoopbackServer):
    """``GET /<path>`` redirects to ``/blob/<path>``, which has the bytes. ``/api/models/<repo>`` describes the files of
    ``<repo>/resolve/main/``.
    """

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.files: dict[str, bytes] = {}
        self.ranges: list[str] = []
        """The header Range of each request for bytes; "" for none."""
        self.cuts: deque[int] = deque()
        """After how many bytes the next answers break."""
        self.statuses: deque[int] = deque()
        """What the next requests are answered with in place of a redirect."""
        self.ignores_ranges = False
        self.checksum = ""
        """Named in place of the true one."""
        self.said = {"cardData": {"license": "apache-2.0"}, "gated": False}
        """What the description of each model has beside its files."""

    def described(self, repo: str) -> dict[str, object] | None:
        """As the hub describes a model; None if it has no file."""
        begin = f"{repo}/resolve/main/"
        files = {name.removeprefix(begin): content for name, content in self.files.items() if name.startswith(begin)}
        kept = {name: {"sha256": hashlib.sha256(file).hexdigest(), "size": len(file)} for name, file in files.items()}
        siblings = [{"rfilename": "README.md"}, *({"rfilename": name, "lfs": lfs} for name, lfs in kept.items())]
        return {"id": repo, "siblings": siblings, **self.said} if files else None


class _Handler(BaseHTTPRequestHandler):
    server: HubStub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        if self.path.startswith("/api/models/"):
            return self._describe(server.described(urlsplit(self.path).path.removeprefix("/api/models/")))
        content = server.files.get(self.path.removeprefix("/blob").lstrip("/"))
        if server.statuses:
            return self._empty(server.statuses.popleft())
        if content is None:
            return self._empty(404)
        sha256 = hashlib.sha256(content).hexdigest()
        if not self.path.startswith("/blob/"):
            headers = {"X-Linked-ETag": f'"{server.checksum or sha256}"', "X-Linked-Size": str(len(content))}
            return self._empty(302, Location=f"/blob{self.path}", **headers)
        return self._bytes(content, f'"{sha256[:32]}"')

    def _bytes(self, content: bytes, etag: str) -> None:
        server = self.server
        asked = self.headers.get("Range", "")
        server.ranges.append(asked)
        begin = 0
        if asked and not server.ignores_ranges and self.headers.get("If-Range") == etag:
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
        if begin >= len(content) > 0:
            return self._empty(416)
        self.send_response(206 if begin else 200)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(len(content) - begin))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if server.cuts:
            self.wfile.write(content[begin : begin + server.cuts.popleft()])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        self.wfile.write(content[begin:])
        return None

    def _describe(self, found: dict[str, object] | None) -> None:
        body = json.dumps(found).encode()
        self.send_response(200 if found else 401)  # as the hub answers for what is not there
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _empty(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return
