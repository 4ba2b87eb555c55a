"""What a wrong address, a dead server, a full bucket and an expired key say: *The bucket* of docs/operate/refusals.md.

Every row is printed here by a command, against a real server unless the row is marked with a circle.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.loopback import LoopbackServer, free_port
from tests.refusals import PAGE, ROWS, expect, unproven
from tests.s3_server import KEY, SECRET, S3Server, s3_server
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("s3")


@contextmanager
def answering(status: int, body: str, listing: str = "") -> Iterator[str]:
    """Start a server that answers every request with ``body``; yield its address.

    Args:
        listing: in place of ``body``, the answer to requests that do not write.
    """

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, listing) if listing else self.answer(status, body)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(status, body)

        def answer(self, status: int, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with LoopbackServer(Answer) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def sync(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """The command ``chatbot-mvp sync`` with an address, a key and a secret."""

    def run(
        endpoint: str, key: str = KEY, secret: str = SECRET, root: str = "s3://team/chatbot"
    ) -> tuple[int, str, str]:
        for name, value in {
            "MINIO_ENDPOINT": endpoint,
            "MINIO_ACCESS_KEY": key,
            "MINIO_SECRET_KEY": secret,
            "DATA_ROOT": root,
        }.items():
            monkeypatch.setenv(name, value)
        return command("sync")

    return run


Sync = Callable[..., tuple[int, str, str]]


def test_the_addresses_of_no_server(sync: Sync) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    expect("nobody listens at MINIO_ENDPOINT", sync(away), s3=away)
    for name, status in {
        "MINIO_ENDPOINT is a server of pages": 200,
        "MINIO_ENDPOINT is another server, which knows no such page": 404,
    }.items():
        with answering(status, "<html>Sign in</html>") as other:
            expect(name, sync(other), s3=other)


@pytest.mark.slow  # the client tries again first
def test_a_gateway_without_its_server(sync: Sync) -> None:
    with answering(503, "<html>Bad gateway</html>") as gateway:
        expect("a proxy before the S3 server has lost it", sync(gateway), s3=gateway)


REFUSAL = "<Error><Code>{}</Code><Message>{}</Message></Error>"


@pytest.mark.slow
def test_an_expired_key_of_another_maker(sync: Sync) -> None:
    with answering(400, REFUSAL.format("ExpiredToken", "The provided token has expired.")) as server:
        expect("the key has expired, on AWS °", sync(server), s3=server)
    full = REFUSAL.format("XMinioStorageFull", "Storage backend has reached its minimum free drive threshold.")
    listing = "<ListBucketResult><Name>team</Name></ListBucketResult>"
    with answering(507, full, listing) as server:
        expect("the disk of the S3 server is full, on MinIO °", sync(server), s3=server)
    with answering(403, REFUSAL.format("QuotaExceeded", "Bucket quota exceeded"), listing) as server:
        expect("the quota of the bucket is used up, on Ceph °", sync(server), s3=server)


def test_wrong_keys_and_a_missing_bucket(s3: S3Server, sync: Sync) -> None:
    expect("MINIO_ACCESS_KEY is wrong", sync(s3.endpoint, key="nobody"), s3=s3.endpoint)
    expect("MINIO_SECRET_KEY is wrong", sync(s3.endpoint, secret="guess"), s3=s3.endpoint)
    expect("there is no such bucket", sync(s3.endpoint, root="s3://tema/chatbot"), s3=s3.endpoint)


@pytest.mark.slow
def test_keys_that_end_while_they_are_used(sync: Sync, tmp_path: Path) -> None:
    with s3_server(tmp_path / "keys") as s3:  # its own: where other tests have made buckets, no volume may be left
        s3.shell(
            "s3.configure -user=app -access_key=app-key -secret_key=app-secret -actions=Admin -apply",
            "s3.bucket.create -name team",
        )

        def until(code: int, *keys: str, within_s: float = 120) -> tuple[int, str, str]:
            """Wait until the exchange ends with a code, and exchange again: the key may have ended during the first."""
            wait_until(lambda: sync(s3.endpoint, *keys)[0] == code, within_s, f"an exchange with code {code}", 0.2)
            return sync(s3.endpoint, *keys)

        until(0, "app-key", "app-secret")
        for expiry_s in (15, 30, 60):  # on a machine that does much else a key may end before it is used
            made = s3.shell(f"s3.serviceaccount.create -user app -expiry {expiry_s}s")
            key, secret = (re.search(rf"{name} Key: (\S+)", made)[1] for name in ("Access", "Secret"))  # type: ignore[index]
            with suppress(AssertionError):  # a new key is not known at once
                until(0, key, secret, within_s=expiry_s)
                break
        expect("the key has expired, on SeaweedFS", until(2, key, secret), s3=s3.endpoint)
        s3.shell("s3.configure -user=app -access_key=app-key -delete -apply")
        expect("the key was deleted while the server works", until(2, "app-key", "app-secret"), s3=s3.endpoint)


def document(folder: Path, size: int) -> None:
    """Put a knowledge base of random text into a data folder."""
    place = folder / "kb" / "big"
    place.mkdir(parents=True, exist_ok=True)
    (place / "kb.json").write_text('{"version": 1}')
    (place / "source.txt").write_text(
        subprocess.run(["head", "-c", str(size), "/dev/urandom"], capture_output=True, check=True).stdout.hex()
    )


@pytest.mark.slow
def test_a_full_disk_and_a_full_quota(sync: Sync, tmp_path: Path) -> None:
    with s3_server(tmp_path / "disk", volumes=2, volume_mb=1) as server:
        server.client.create_bucket(Bucket="team")
        document(tmp_path / "data", 3_000_000)
        expect("the disk of the S3 server is full, on SeaweedFS", sync(server.endpoint), s3=server.endpoint)
    with s3_server(tmp_path / "quota") as server:
        server.client.create_bucket(Bucket="team")
        assert sync(server.endpoint)[0] == 0
        time.sleep(12)  # the sizes of buckets are reported
        assert "read only" in server.shell(
            "s3.bucket.quota -name=team -op=set -sizeMB=1", "s3.bucket.quota.enforce -apply"
        )
        document(tmp_path / "data", 100_000)
        expect("the quota of the bucket is used up, on SeaweedFS", sync(server.endpoint), s3=server.endpoint)


def test_every_row_of_the_page_is_proven_here() -> None:
    assert len(ROWS) == PAGE.count(" | `")
    assert unproven("The bucket", Path(__file__)) == []
