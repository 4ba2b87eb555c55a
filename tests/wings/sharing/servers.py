"""Servers that share a bucket, each an App with a data folder of its own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from chatbot_mvp.app import App
from chatbot_mvp.remote.s3 import Storage, open_storage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.sharing.exchange import Report
from chatbot_mvp.wings.sharing.service import Sharing
from tests.s3_server import BUCKET, KEY, SECRET, S3Server

Server = Callable[[str], App]
"""Name -> an App with a data folder of its own on the shared bucket."""

_numbers = itertools.count()


def new_prefix() -> str:
    """Return a place in the bucket that no other test uses."""
    return f"sharing/{next(_numbers)}"


def exchange(*apps: App) -> list[Report]:
    """Let servers exchange, one after the other."""
    return [app.get(Sharing).exchange() for app in apps]


def bucket_of(s3: S3Server, prefix: str) -> dict[str, str]:
    """Return the variables of the environment with which a program shares a place of the bucket."""
    given = {"MINIO_ENDPOINT": s3.endpoint, "MINIO_ACCESS_KEY": KEY, "MINIO_SECRET_KEY": SECRET}
    return given | {"DATA_ROOT": f"s3://{BUCKET}/{prefix}"}


def put(s3: S3Server, prefix: str, name: str, body: bytes = b"{}") -> None:
    s3.client.put_object(Bucket=BUCKET, Key=f"{prefix}/{name}", Body=body)


def keys(s3: S3Server, prefix: str) -> list[str]:
    """Return the names of the objects of the shared root, without its prefix."""
    found = s3.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{prefix}/").get("Contents", [])
    return [item["Key"].removeprefix(f"{prefix}/") for item in found]


class Spoken(BaseHTTPRequestHandler):
    """Answers in the words of another kind of S3 server."""

    def reply(self, status: int, code: str = "") -> None:
        """Send a status; ``code`` is that of a refusal."""
        body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode() if code else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def storage_of(settings: Settings, handler: type[Spoken]) -> Iterator[Storage]:
    """Yield the storage on a server that answers as ``handler`` does."""
    with HTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{http.server_port}"
        storage = open_storage(
            settings.with_changes(minio_endpoint=endpoint, minio_access_key="a", minio_secret_key="b")
        )
        assert storage is not None
        try:
            yield storage
        finally:
            http.shutdown()
