"""Caches vectors on disk by model, input type and text hash, so that no text is embedded twice."""

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

_LOOKUP = 500  # keys per SQL statement; SQLite limits its parameters


class VectorCache:
    """Cache in one SQLite file. Safe for threads and processes; a crash loses at most the current batch."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it.

        Raises:
            CacheUnusable: the file cannot be opened or created.
        """
        self._path = path
        self._lock = threading.Lock()
        with usable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The connection stays open: closing the last one copies the journal into the file and waits for the disk,
            # which takes longer than embedding a question.
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
        """Return the vectors of ``texts``, shape (len(texts), dimensions). Only those not cached are computed.

        Args:
            batch_size: texts per call of ``embedder``. Texts of similar length share a batch, which is faster for
                models that pad.
            progress: called after every batch with ``phase``; it may raise to stop. Computed vectors are kept.

        Raises:
            CacheUnusable: the file cannot be read or written; earlier batches are kept.
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
        # Short and long batches are mixed, so that the rate so far predicts the remaining time.
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
        """Return how many distinct texts are cached."""
        return sum(map(len, self._read({_key(model_id, input_type, text) for text in texts})))

    def forget(self, model_id: str, texts: Sequence[str], input_type: InputType) -> None:
        """Delete the vectors of ``texts``; the next ``embed`` computes them again."""
        keys = [(_key(model_id, input_type, text),) for text in texts]
        with self._lock, self._connection:
            self._connection.executemany("DELETE FROM vectors WHERE key = ?", keys)

    def _read(self, keys: Iterable[bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield lists of cached (key, vector) pairs, in parts: all at once would double the memory used."""
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
    """Convert errors of SQLite or the system to CacheUnusable for the cache at ``path``.

    Raises:
        CacheUnusable: the block raised such an error.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise CacheUnusable(path=str(path), reason=str(error)) from error


def _key(model_id: str, input_type: InputType, text: str) -> bytes:
    return hashlib.sha256(f"{model_id}\x00{input_type}\x00{text}".encode("utf-8", "surrogatepass")).digest()
