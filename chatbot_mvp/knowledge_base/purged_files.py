"""Files of the data folder with the mark in place of purged text: JSON, JSON Lines, CSV, text and SQLite."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.storage.json_object import parse_json

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
_TRIES = 5

Rewrite = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def purge_files(paths: Iterable[Path], purged: Purged) -> int:
    """Rewrite files that quote purged text, each atomically; return their number. Other files stay as they are.

    Raises:
        OSError: a file cannot be read or written; those before it are done.
    """
    return sum(purge_file(path, purged) for path in paths if path.is_file())


def purge_file(path: Path, purged: Purged) -> bool:
    """Rewrite one file if it quotes purged text, and return whether it did."""
    rewrite = {".json": _json, ".jsonl": _lines}.get(path.suffix, _plain)
    if path.suffix == ".files":  # the files of an upload job: one JSON object
        rewrite = _json
    return _replaced(path, lambda content: rewrite(content, purged))


def purge_lines(path: Path, change: Rewrite) -> bool:
    """Rewrite the lines of a JSON Lines file by ``change``, atomically; return whether anything changed.

    Lines that are no JSON objects cannot be shown to anybody, and go.
    """
    return path.is_file() and _replaced(path, lambda content: _written(change(_rows(content)), _rows(content)))


def purge_caches(folder: Path, purged: Purged) -> tuple[int, list[Path]]:
    """Delete the rows of all SQLite files in a folder whose texts quote purged text.

    What SQLite keeps of deleted rows goes too, and so do damaged files: nobody can tell what is in them.

    Returns:
        (number of rows, damaged files that were deleted)

    Raises:
        OSError: a file is in use; those before it are done.
    """
    count, damaged = 0, []
    for path in sorted((*folder.rglob("*.sqlite"), *folder.rglob("*.sqlite3"))):
        if not path.is_file():
            continue
        try:
            count += _purge_cache(path, purged)
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, str(error), str(path)) from error
        except sqlite3.Error:
            damaged.append(path)
            for suffix in ("", "-wal", "-shm", "-journal"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
    return count, damaged


def _purge_cache(path: Path, purged: Purged) -> int:
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        tables = connection.execute(_TABLES).fetchall()
        count = sum(_purge_table(connection, table, purged) for (table,) in tables)
        connection.commit()
        if count or connection.execute("PRAGMA freelist_count").fetchone()[0]:
            connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return count


def _purge_table(connection: sqlite3.Connection, table: str, purged: Purged) -> int:
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)).fetchall()
    texts = ", ".join(f'"{name}"' for name, kind, _ in columns if kind != "BLOB")  # vectors are no text
    if not texts:
        return 0
    # Tables with a key may have no rowid.
    keys = [f'"{name}"' for name, _, place in columns if place] or ["rowid"]
    found = []
    for row in connection.execute(f'SELECT {", ".join(keys)}, {texts} FROM "{table}"'):  # nosec B608
        if any(purged.text.quoted_in(text) for text in _texts(row[len(keys) :])):
            found.append(row[: len(keys)])
    this = " AND ".join(f"{key} IS ?" for key in keys)
    connection.executemany(f'DELETE FROM "{table}" WHERE {this}', found)  # nosec B608
    return len(found)


def _texts(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
            with suppress(ValueError):  # a text within JSON may have its accents escaped
                yield json.dumps(parse_json(value), ensure_ascii=False)


def _replaced(path: Path, rewrite: Callable[[bytes], bytes | None]) -> bool:
    """Write what ``rewrite`` makes of a file's content; None leaves the file as it is.

    A file that grows in the meantime is rewritten again.
    """
    for _ in range(_TRIES):
        stamp = _stamp(path)
        if (new := rewrite(path.read_bytes())) is None:
            return False
        if _stamp(path) == stamp:
            write_atomically(path, new)
            return True
    raise OSError(errno.EBUSY, "others keep writing to it", str(path))


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _json(content: bytes, purged: Purged) -> bytes | None:
    try:
        before = parse_json(content)
    except ValueError:
        return _plain(content, purged)
    after = purged.text.without_in(before, purged.kb_id)
    if after == before:
        return None
    indent = 1 if content.startswith(b'{\n "') else 2 if content.startswith(b"{\n") else None
    return (json.dumps(after, ensure_ascii=False, indent=indent) + "\n").encode("utf-8", "replace")


def _lines(content: bytes, purged: Purged) -> bytes | None:
    rows = _rows(content)
    return _written([purged.text.without_in(row, purged.kb_id) for row in rows], rows)


def _rows(content: bytes) -> list[dict[str, Any]]:
    rows = []
    for line in content.splitlines():
        with suppress(ValueError):
            if isinstance(row := parse_json(line), dict):
                rows.append(row)
    return rows


def _written(after: list[dict[str, Any]], before: list[dict[str, Any]]) -> bytes | None:
    if after == before:
        return None
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in after).encode("utf-8", "replace")


def _plain(content: bytes, purged: Purged) -> bytes | None:
    before = content.decode("utf-8", "replace")
    after = purged.text.without(before, True, purged.kb_id)
    return None if after == before else after.encode("utf-8", "replace")
