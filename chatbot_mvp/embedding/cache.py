"""Caches vectors on disk by model, input type and text hash, so that no text is embedded twice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors, vectors_id
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

T = TypeVar("T")
PART_CHARS = 20_000
"""Characters that are embedded between two commits, by default; they take the local model half a second."""


class VectorCache:
    """Cache in one SQLite file. Safe for threads and processes; a crash loses at most the current part."""

    def __init__(self, path: Path, part_chars: int = PART_CHARS) -> None:
        """Open the file, or create it.

        Args:
            part_chars: characters that are embedded between two commits.

        Raises:
            CacheUnusable: the file cannot be opened or created.
        """
        self._part_chars = part_chars
        columns = "(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        self._cache: SqliteCache[bytes] = SqliteCache(path, "vectors", columns)
        self._cache.open()

    def embed(
        self,
        embedder: Embedder,
        texts: Sequence[str],
        input_type: InputType,
        progress: ProgressCallback = ignore_progress,
        phase: str = "embed",
    ) -> Vectors:
        """Return the vectors of ``texts``, shape (len(texts), dimensions). Only those not cached are computed.

        Args:
            embedder: gets at most ``batch_size`` texts at once, so that after a crash at most one request to a remote
                model is repeated.
            progress: called after every part of the texts with ``phase``; it may raise to stop. Computed vectors are
                kept.

        Raises:
            CacheUnusable: the file cannot be read or written; earlier parts are kept.
        """
        started = time.monotonic()
        keys = _keys(embedder, texts, input_type)
        result = np.zeros((len(texts), embedder.dimensions), dtype=np.float32)
        row_of: dict[bytes, int] = {}  # each distinct text once
        for row, key in enumerate(keys):
            row_of.setdefault(key, row)
        waiting = dict(row_of)
        for found in self._cache.read(row_of):
            rows = [waiting.pop(key) for key, _ in found]
            result[rows] = np.frombuffer(b"".join(vector for _, vector in found), np.float32).reshape(len(rows), -1)
        cached = len(row_of) - len(waiting)
        order = list(waiting.items())
        total = cached + len(order)
        progress(Progress(phase, cached, total, 0.0, cached))
        done = cached
        for part in parts(order, lambda item: len(texts[item[1]]), self._part_chars, embedder.batch_size):
            vectors = embedder.embed([texts[row] for _, row in part], input_type)
            self._cache.write({key: vector.tobytes() for (key, _), vector in zip(part, vectors, strict=True)})
            result[[row for _, row in part]] = vectors
            done += len(part)
            progress(Progress(phase, done, total, time.monotonic() - started, cached))
        if len(row_of) < len(keys):
            result = result[[row_of[key] for key in keys]]
        return result

    def count(self, embedder: Embedder, texts: Sequence[str], input_type: InputType) -> int:
        """Return how many distinct texts are cached."""
        return sum(map(len, self._cache.read(_keys(embedder, texts, input_type))))

    def missing(self, embedder: Embedder, texts: Sequence[str], input_type: InputType) -> list[str]:
        """Return the distinct texts that are not cached, in order."""
        text_of = dict(zip(_keys(embedder, texts, input_type), texts, strict=True))
        for rows in self._cache.read(text_of):
            for key, _ in rows:
                del text_of[key]
        return list(text_of.values())

    def forget(self, embedder: Embedder, texts: Sequence[str], input_type: InputType) -> None:
        """Delete the vectors of ``texts``; the next ``embed`` computes them again."""
        self._cache.delete(_keys(embedder, texts, input_type))


def parts(items: Iterable[T], chars: Callable[[T], int], part_chars: int, most: int | None = None) -> Iterator[list[T]]:
    """Split texts into parts of at most ``most`` texts and ``part_chars`` characters, or of one text.

    Args:
        chars: returns the length of a text.
        most: None for no limit of texts.
    """
    part: list[T] = []
    length = 0
    for item in items:
        size = chars(item)
        if part and (length + size > part_chars or len(part) == most):
            yield part
            part, length = [], 0
        part.append(item)
        length += size
    if part:
        yield part


def _keys(embedder: Embedder, texts: Sequence[str], input_type: InputType) -> list[bytes]:
    begin = f"{vectors_id(embedder)}\x00{input_type}\x00"
    return [hashlib.sha256(f"{begin}{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
