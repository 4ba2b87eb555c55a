"""Caches vectors on disk by model, input type and text hash, so that no text is embedded twice."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress


class VectorCache:
    """Cache in one SQLite file. Safe for threads and processes; a crash loses at most the current batch."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it.

        Raises:
            CacheUnusable: the file cannot be opened or created.
        """
        columns = "(key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        self._cache: SqliteCache[bytes] = SqliteCache(path, "vectors", columns)
        self._cache.open()

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
        for found in self._cache.read(row_of):
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
            self._cache.write({key: vector.tobytes() for (key, _), vector in zip(batch, vectors, strict=True)})
            result[[row for _, row in batch]] = vectors
            done += len(batch)
            progress(Progress(phase, done, total, time.monotonic() - started, cached))
        if len(row_of) < len(keys):
            result = result[[row_of[key] for key in keys]]
        return result

    def count(self, model_id: str, texts: Sequence[str], input_type: InputType) -> int:
        """Return how many distinct texts are cached."""
        return sum(map(len, self._cache.read({_key(model_id, input_type, text) for text in texts})))

    def forget(self, model_id: str, texts: Sequence[str], input_type: InputType) -> None:
        """Delete the vectors of ``texts``; the next ``embed`` computes them again."""
        self._cache.delete(_key(model_id, input_type, text) for text in texts)


def _key(model_id: str, input_type: InputType, text: str) -> bytes:
    return hashlib.sha256(f"{model_id}\x00{input_type}\x00{text}".encode("utf-8", "surrogatepass")).digest()
