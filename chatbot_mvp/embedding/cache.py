"""Vectors on disk under (model, input type, text hash), so that no text is ever embedded twice."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_LOOKUP = 500  # SQLite's parameters in one statement


class VectorCache:
    """One SQLite file. Safe for several threads and processes; each batch is committed, so a crash loses only one."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            CacheUnusable
        """
        self._path = path
        self._lock = threading.Lock()
        with usable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # One connection for good: closing the last one copies the journal into the file and waits for the disk,
            # which took a question longer than its embedding.
            self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
            weakref.finalize(self, self._connection.close)
            with self._connection:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
                )

    def embed(
        self,
        embedder: Embedder,
        texts: Sequence[str],
        input_type: InputType,
        batch_size: int = 32,
        progress: ProgressCallback = ignore_progress,
        phase: str = "embed",
    ) -> Vectors:
        """The vectors of ``texts``, shape (len(texts), dimensions); only those not cached are computed.

        A batch holds texts of like length, which a model that pads is quicker with. ``progress`` is told after every
        batch and may raise to stop: what was computed is kept.

        Raises:
            CacheUnusable: the file cannot be read or written; batches before stay.
        """
        started = time.monotonic()
        keys = [_key(embedder.model_id, input_type, text) for text in texts]
        result = np.zeros((len(texts), embedder.dimensions), dtype=np.float32)
        row_of: dict[bytes, int] = {}  # each distinct text once
        for row, key in enumerate(keys):
            row_of.setdefault(key, row)
        waiting = dict(row_of)
        for found in self._read(row_of):
            rows = [waiting.pop(key) for key, _ in found]
            result[rows] = np.frombuffer(b"".join(vector for _, vector in found), np.float32).reshape(len(rows), -1)
        cached = len(row_of) - len(waiting)
        order = sorted(waiting.items(), key=lambda item: (len(texts[item[1]]), item[1]))
        total = cached + len(order)
        progress(Progress(phase, cached, total, 0.0, cached))
        batches = [order[begin : begin + batch_size] for begin in range(0, len(order), batch_size)]
        # Short and long batches mixed, so that the rate so far tells the time left.
        random.Random(0).shuffle(batches)
        done = cached
        for batch in batches:
            vectors = embedder.embed([texts[row] for _, row in batch], input_type)
            self._write({key: vector.tobytes() for (key, _), vector in zip(batch, vectors, strict=True)})
            result[[row for _, row in batch]] = vectors
            done += len(batch)
            progress(Progress(phase, done, total, time.monotonic() - started, cached))
        if len(row_of) < len(keys):
            result = result[[row_of[key] for key in keys]]
        return result

    def count(self, model_id: str, texts: Sequence[str], input_type: InputType) -> int:
        """How many distinct texts need not be embedded."""
        return sum(map(len, self._read({_key(model_id, input_type, text) for text in texts})))

    def forget(self, model_id: str, texts: Sequence[str], input_type: InputType) -> None:
        """Delete the vectors of ``texts``; the next ``embed`` computes them anew."""
        keys = [(_key(model_id, input_type, text),) for text in texts]
        with self._lock, self._connection:
            self._connection.executemany("DELETE FROM vectors WHERE key = ?", keys)

    def _read(self, keys: Iterable[bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
        """(key, vector) of those that are there, some at a time: all at once would be as much memory again."""
        wanted = sorted(keys)
        for begin in range(0, len(wanted), _LOOKUP):
            part = wanted[begin : begin + _LOOKUP]
            marks = ",".join("?" * len(part))
            with self._lock, usable(self._path):
                rows = self._connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
                found = rows.fetchall()
            if found:
                yield found

    def _write(self, fresh: Mapping[bytes, bytes]) -> None:
        with self._lock, usable(self._path), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", fresh.items())


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Tells of a cache on disk whatever SQLite or the system has against it.

    Raises:
        CacheUnusable
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise CacheUnusable(path=str(path), reason=str(error)) from error


def _key(model_id: str, input_type: InputType, text: str) -> bytes:
    return hashlib.sha256(f"{model_id}\x00{input_type}\x00{text}".encode("utf-8", "surrogatepass")).digest()
