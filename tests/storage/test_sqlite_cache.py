"""Caches on disk: shared by threads, with tables that stay, plain about a file that is damaged."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache
from chatbot_mvp.storage.sqlite_cache import SqliteCache

COLUMNS = "(key BLOB PRIMARY KEY, value TEXT NOT NULL)"


def cache_at(path: Path) -> SqliteCache[str]:
    return SqliteCache(path, "kept", COLUMNS)


def kept(cache: SqliteCache[str], *keys: bytes) -> dict[bytes, str]:
    return {key: value for rows in cache.read(keys) for key, value in rows}


def test_values_are_found_again_by_another_process_and_can_be_replaced_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.sqlite"
    keys = [b"%04d" % number for number in range(1_200)]
    cache_at(path).write({key: key.decode() for key in keys})
    cache = cache_at(path)
    assert kept(cache, *keys, b"none") == {key: key.decode() for key in keys}
    cache.write({keys[0]: "other"})
    cache.delete(keys[1:])
    assert kept(cache, *keys) == {keys[0]: "other"}
    assert (len(cache), cache.clear(), len(cache)) == (1, 1, 0)


def test_reading_makes_no_file(tmp_path: Path) -> None:
    cache = cache_at(tmp_path / "a.sqlite")
    assert (kept(cache, b"a"), len(cache), cache.clear()) == ({}, 0, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_deleted_is_made_anew(tmp_path: Path) -> None:
    cache = cache_at(tmp_path / "a.sqlite")
    cache.write({b"a": "1"})
    for path in tmp_path.iterdir():
        path.unlink()
    assert kept(cache, b"a") == {}
    cache.write({b"b": "2"})
    assert kept(cache_at(tmp_path / "a.sqlite"), b"a", b"b") == {b"b": "2"}


@pytest.mark.parametrize(
    "use", [SqliteCache.open, len, SqliteCache.clear, lambda cache: cache.write({b"a": "1"}), lambda c: kept(c, b"a")]
)
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, use: Callable[[SqliteCache[str]], object]) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(CacheUnusable, match=r"a\.sqlite"):
        use(cache_at(path))
    assert path.read_bytes() == b"no database" * 1_000


def test_threads_share_one_cache(tmp_path: Path) -> None:
    cache = cache_at(tmp_path / "a.sqlite")

    def write(thread: int) -> None:
        for number in range(20):
            cache.write({f"{thread}-{number}".encode(): "x"})
            assert kept(cache, f"{thread}-{number}".encode())

    threads = [threading.Thread(target=write, args=[thread]) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 160


def test_the_tables_of_all_caches_are_those_of_version_1(tmp_path: Path) -> None:
    """Otherwise every vector and every reply that a team has paid for would be computed again."""
    VectorCache(tmp_path / "vectors")
    ContextCache(tmp_path / "contexts")
    ReplyCache(tmp_path / "replies").put(b"key", Completion("text", "model", 0.0, "stop", Usage(1, 1)))
    tables = {}
    for path in (tmp_path / "vectors", tmp_path / "contexts", tmp_path / "replies"):
        with closing(sqlite3.connect(path)) as connection:
            tables[path.name] = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
    assert tables == {
        "vectors": [
            ("vectors", "CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"),
        ],
        "contexts": [
            ("contexts", "CREATE TABLE contexts (key BLOB PRIMARY KEY, context TEXT NOT NULL) WITHOUT ROWID"),
        ],
        "replies": [("replies", "CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL)")],
    }
