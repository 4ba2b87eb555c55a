"""The tokens of a knowledge base's paragraphs, cached on disk and read for the candidates of a question only."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import TokenEmbedder, Vectors
from chatbot_mvp.embedding.cache import PART_CHARS, parts
from chatbot_mvp.retrieval.late.matching import SCALE, Int8
from chatbot_mvp.retrieval.late.weights import LateWeights
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Progress, ProgressCallback

_KEPT_BYTES = 32_000_000
"""Bytes of tokens that stay in memory: those of a knowledge base of about 300,000 characters."""


class PassageTokens:
    """Projected tokens of texts, one int8 matrix of shape (tokens, kept dimensions) per text. Safe for threads."""

    def __init__(self, path: Path, embedder: TokenEmbedder, weights: LateWeights) -> None:
        """
        Args:
            path: SQLite file; created by the first write.
        """
        self.embedder = embedder
        self.weights = weights
        columns = "(key BLOB PRIMARY KEY, tokens BLOB NOT NULL) WITHOUT ROWID"
        self._cache: SqliteCache[bytes] = SqliteCache(path, "tokens", columns)
        self._recent: BoundedCache[bytes, Int8] = BoundedCache(_KEPT_BYTES, lambda found: found.nbytes)

    def compute(self, texts: Sequence[str], progress: ProgressCallback, phase: str) -> None:
        """Compute and store what is missing. Parts that were stored before an interruption are kept.

        Args:
            progress: called after every part with ``phase``; may raise to stop.
        """
        started = time.monotonic()
        missing = {self._key(text): text for text in texts}
        total = len(missing)
        for found in self._cache.read(missing):
            for key, _ in found:
                del missing[key]
        before = done = total - len(missing)
        progress(Progress(phase, done, total, 0.0, before))
        for part in parts(missing.items(), lambda item: len(item[1]), PART_CHARS):
            self._cache.write(self._computed(part))
            done += len(part)
            progress(Progress(phase, done, total, time.monotonic() - started, before))

    def count(self, texts: Sequence[str]) -> int:
        """Return how many distinct texts are stored."""
        return sum(map(len, self._cache.read({self._key(text) for text in texts})))

    def forget(self, texts: Iterable[str]) -> None:
        """Delete the tokens of ``texts``."""
        keys = {self._key(text) for text in texts}
        self._recent.drop(keys.__contains__)
        self._cache.delete(keys)

    def of(self, texts: Sequence[str]) -> list[Int8]:
        """Return the tokens of each text, shape (tokens, kept dimensions), in units of 1 / SCALE.

        A text that is not stored is computed, because another process may have deleted it.
        """
        keys = [self._key(text) for text in texts]
        found = {key: tokens for key in keys if (tokens := self._recent.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for stored in self._cache.read(missing):
            for key, content in stored:
                found[key] = _from_bytes(content, self.weights.projection.shape[1])
                self._recent.put(key, found[key])
                del missing[key]
        if missing:
            for key, content in self._computed(missing.items()).items():
                found[key] = _from_bytes(content, self.weights.projection.shape[1])
        return [found[key] for key in keys]

    def _computed(self, items: Collection[tuple[bytes, str]]) -> dict[bytes, bytes]:
        tokens = self.embedder.text_tokens([text for _, text in items], "passage")
        return {key: _as_bytes(self.weights.project(found)) for (key, _), found in zip(items, tokens, strict=True)}

    def _key(self, text: str) -> bytes:
        name = f"{self.embedder.model_id}\x00{self.weights.key}\x00{text}"
        return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def _as_bytes(tokens: Vectors) -> bytes:
    return np.clip(np.round(tokens * SCALE), -127, 127).astype(np.int8).tobytes()


def _from_bytes(content: bytes, dimensions: int) -> Int8:
    return np.frombuffer(content, np.int8).reshape(-1, dimensions)
