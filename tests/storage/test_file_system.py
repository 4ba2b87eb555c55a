"""A cache on a file system that several machines use is opened without memory that they cannot share."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from chatbot_mvp.storage import sqlite_cache
from chatbot_mvp.storage.sqlite_cache import SqliteCache, is_on_network

MOUNTS = r"""
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:40 / /shared rw,relatime shared:1 - nfs4 10.0.0.1:/export rw,vers=4.2
31 30 0:41 / /shared/scratch rw - xfs /dev/vdb rw
32 21 0:42 / /team\040data rw - lustre mds@tcp:/fs rw
33 21 0:43 / /bucket rw - fuse.s3fs s3fs rw
34 21 0:44 / /over rw - fuse.fuse-overlayfs fuse-overlayfs rw
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/data", False),
        ("/shared/data/cache", True),
        ("/shared/scratch/data", False),
        ("/sharedtoo/data", False),
        ("/team data/cache", True),
        ("/bucket/data", True),
        ("/over/data", False),
    ],
)
def test_the_innermost_mount_decides(path: str, expected: bool, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert is_on_network(Path(path), mounts) is expected


def test_without_a_list_of_mounts_nothing_is_assumed(tmp_path: Path) -> None:
    assert not is_on_network(tmp_path, tmp_path / "none")


@pytest.mark.parametrize(("network", "mode"), [(False, "wal"), (True, "truncate")])
def test_only_a_cache_on_one_machine_has_a_write_ahead_log(
    network: bool, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_cache, "is_on_network", lambda _: network)
    path = tmp_path / "cache.sqlite"
    cache: SqliteCache[bytes] = SqliteCache(path, "v", "(key BLOB PRIMARY KEY, value BLOB NOT NULL)")
    cache.write({b"k": b"v"})
    other: SqliteCache[bytes] = SqliteCache(path, "v", "(key BLOB PRIMARY KEY, value BLOB NOT NULL)")
    assert list(other.read([b"k"])) == [[(b"k", b"v")]]
    assert (tmp_path / "cache.sqlite-shm").exists() is (mode == "wal")
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal" if mode == "wal" else "delete",)
    connection.close()
