"""Key-value cache in one table of a SQLite file, for several threads and processes."""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.formats import CACHE

V = TypeVar("V", bytes, str)
_LOOKUP = 500  # maximum keys per SQL statement, since SQLite limits its parameters

_NETWORK = re.compile(
    r"nfs4?|cifs|smb[23]?|smbfs|ceph|lustre|glusterfs|gpfs|beegfs|afs|9p|virtiofs|"
    r"fuse\.(?!.*(?:overlay|gocryptfs|encfs|ntfs|exfat|portal)).*"
)
"""Types of file systems that several machines may use at the same time."""
_MOUNTS = Path("/proc/self/mountinfo")


class SqliteCache(Generic[V]):
    """A cache whose writes are one transaction each, so a crash loses at most the current write.

    Every method raises ``CacheUnusable`` if the file cannot be used, for instance because it is damaged. Reading does
    not create the file.
    """

    def __init__(self, path: Path, table: str, columns: str) -> None:
        """
        Args:
            columns: as in ``CREATE TABLE``, brackets included; the first is ``key``, the second the value.
        """
        self._path = path
        self._table = table
        self._columns = columns
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Create the file and the table if they are missing, so that an unusable file is detected early."""
        with self._use():
            pass

    def read(self, keys: Iterable[bytes]) -> Iterator[list[tuple[bytes, V]]]:
        """Yield lists of (key, value) for the existing keys, up to 500 each, because all may not fit in memory."""
        wanted = sorted(set(keys)) if self._path.is_file() else []
        for begin in range(0, len(wanted), _LOOKUP):
            part = wanted[begin : begin + _LOOKUP]
            marks = ",".join("?" * len(part))
            with self._use() as connection:
                found = connection.execute(f"SELECT * FROM {self._table} WHERE key IN ({marks})", part).fetchall()  # nosec B608
            if found:
                yield found

    def write(self, values: Mapping[bytes, V]) -> None:
        """Store values. Existing values of the same keys are replaced."""
        with self._use() as connection:
            connection.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", values.items())  # nosec B608

    def delete(self, keys: Iterable[bytes]) -> None:
        """Delete the values of these keys."""
        with self._use() as connection:
            connection.executemany(f"DELETE FROM {self._table} WHERE key = ?", [(key,) for key in keys])  # nosec B608

    def clear(self) -> int:
        """Delete all values and return their number."""
        if not self._path.is_file():
            return 0
        with self._use() as connection:
            return connection.execute(f"DELETE FROM {self._table}").rowcount  # nosec B608

    def __len__(self) -> int:
        if not self._path.is_file():
            return 0
        with self._use() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {self._table}").fetchone()[0])  # nosec B608

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                connection = self._connected()
                with connection:
                    yield connection
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(path=str(self._path), reason=str(error)) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._path.is_file():
            return self._connection
        make_folder(self._path.parent)
        # Keep one connection open: closing the last one copies the journal into the file and waits for the disk,
        # which takes longer than embedding a question.
        connection = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
        try:
            # Files of the first version have 0 and the same tables.
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version > CACHE:
                raise sqlite3.DatabaseError(f"a later version wrote it (format {version}; known up to {CACHE})")
            with connection:
                # A write-ahead log needs memory that all its users share, so it works on one machine only.
                mode = "TRUNCATE" if is_on_network(self._path) else "WAL"
                connection.execute(f"PRAGMA journal_mode={mode}")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(f"CREATE TABLE IF NOT EXISTS {self._table} {self._columns}")
                if version < CACHE:
                    connection.execute(f"PRAGMA user_version={CACHE}")
        except sqlite3.Error:
            connection.close()
            raise
        weakref.finalize(self, connection.close)
        self._connection = connection
        return connection


def is_on_network(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether a path is on a file system that other machines may use, too. False where that is unknown.

    Args:
        mounts: list of mounted file systems, in the format of Linux.
    """
    lines: list[str] = []
    with suppress(OSError):
        lines = mounts.read_text("utf-8", "replace").splitlines()
    whole = path.absolute()
    best, kind = -1, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of several file systems mounted at one place, the last one is seen.
        if whole.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return _NETWORK.fullmatch(kind) is not None
