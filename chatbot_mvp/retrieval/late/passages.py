"""What one pass of the embedding model over each paragraph of a knowledge base gives, cached on disk.

The states of a paragraph's tokens are summed for each sentence; the sums become the vectors of sentences and windows.
The projected tokens are kept as well, for late interaction, which reads those of a question's candidates only.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import TokenEmbedder, TokenStates, Vectors, vectors_id
from chatbot_mvp.embedding.cache import PART_CHARS, parts
from chatbot_mvp.retrieval.arrays import Ints
from chatbot_mvp.retrieval.late.matching import SCALE, Int8, LateWeights, closest_tokens
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Progress, ProgressCallback

PASS_VERSION = 1
"""Part of the key of every cached sum. Raise it when the same paragraphs would give other vectors."""
_KEPT_BYTES = 32_000_000
"""Bytes of tokens that stay in memory: those of a knowledge base of about 300,000 characters."""


@dataclass(frozen=True, slots=True)
class PassageText:
    """A paragraph as the embedding model reads it."""

    head: str
    """Its headings, after its context if it has one; read before the text, and part of no sentence."""
    text: str
    sentences: tuple[tuple[int, int], ...]
    """(start, end) in ``text`` of each sentence; at least one."""

    @property
    def whole(self) -> str:
        """Head and text."""
        return joined(self.head, self.text)


def joined(head: str, text: str) -> str:
    """Return head and text as the embedding model reads them."""
    return f"{head}\n{text}" if head else text


class PassageTokens:
    """Projected tokens of paragraphs, and the sums of their states by sentence. Safe for threads."""

    def __init__(self, path: Path, embedder: TokenEmbedder, weights: LateWeights) -> None:
        """
        Args:
            path: SQLite file; created by the first write.
        """
        self.embedder = embedder
        self._numbers = vectors_id(embedder)
        self.weights = weights
        columns = "(key BLOB PRIMARY KEY, {} BLOB NOT NULL) WITHOUT ROWID"
        self._cache: SqliteCache[bytes] = SqliteCache(path, "tokens", columns.format("tokens"))
        self._sums: SqliteCache[bytes] = SqliteCache(path, "sentences", columns.format("sums"))
        self._recent: BoundedCache[bytes, Int8] = BoundedCache(_KEPT_BYTES, lambda found: found.nbytes)

    def compute(self, passages: Sequence[PassageText], progress: ProgressCallback, phase: str) -> Vectors:
        """Compute and store what is missing. Parts that were stored before an interruption are kept.

        Args:
            progress: called after every part with ``phase``; may raise to stop.

        Returns:
            The sum of the states of each sentence's tokens, shape (sentences of all passages, dimensions).
        """
        started = time.monotonic()
        keys = [self._sums_key(passage) for passage in passages]
        missing = dict(zip(keys, passages, strict=True))
        total = len(missing)
        sums: dict[bytes, Vectors] = {}
        for found in self._sums.read(missing):
            for key, content in found:
                sums[key] = np.frombuffer(content, np.float32).reshape(-1, self.embedder.dimensions)
                del missing[key]
        before = done = total - len(missing)
        progress(Progress(phase, done, total, 0.0, before))
        for part in parts(missing.items(), lambda item: len(item[1].whole), PART_CHARS):
            texts = [passage.whole for _, passage in part]
            tokens = self.embedder.text_tokens(texts, "passage")
            self._cache.write({self._key(text): self._projected(of) for text, of in zip(texts, tokens, strict=True)})
            fresh = {key: self._summed(passage, of) for (key, passage), of in zip(part, tokens, strict=True)}
            self._sums.write({key: of.tobytes() for key, of in fresh.items()})
            sums |= fresh
            done += len(part)
            progress(Progress(phase, done, total, time.monotonic() - started, before))
        empty = np.zeros((0, self.embedder.dimensions), np.float32)
        return np.concatenate([sums[key] for key in keys] or [empty])

    def forget(self, passages: Iterable[PassageText]) -> None:
        """Delete what was computed for ``passages``."""
        found = list(passages)
        keys = {self._key(passage.whole) for passage in found}
        self._recent.drop(keys.__contains__)
        self._sums.delete(self._sums_key(passage) for passage in found)
        self._cache.delete(keys)

    def of(self, texts: Sequence[str], keep: bool = False) -> list[Int8]:
        """Return the tokens of each text, shape (tokens, kept dimensions), in units of 1 / SCALE.

        A text that is not stored is computed: another process may have deleted it.

        Args:
            keep: store what was computed.
        """
        keys = [self._key(text) for text in texts]
        found = {key: tokens for key in keys if (tokens := self._recent.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for stored in self._cache.read(missing):
            for key, content in stored:
                found[key] = self._from_bytes(content)
                self._recent.put(key, found[key])
                del missing[key]
        if missing:
            computed = self.embedder.text_tokens(list(missing.values()), "passage")
            fresh = {key: self._projected(of) for key, of in zip(missing, computed, strict=True)}
            if keep:
                self._cache.write(fresh)
            found |= {key: self._from_bytes(content) for key, content in fresh.items()}
        return [found[key] for key in keys]

    def compared(
        self, question: TokenStates, texts: Sequence[str], keep: bool = False
    ) -> tuple[Vectors, Vectors, Ints]:
        """Compare a question with texts, which are read as by ``of``.

        Returns:
            (``closest_tokens`` of the question and each text, shape (question tokens, texts); ``LateWeights.shares`` of
            the question; number of tokens of each text)
        """
        tokens = self.of(texts, keep)
        closest = closest_tokens(self.weights.project(question), tokens)
        return closest, self.weights.shares(question), np.array([len(found) for found in tokens])

    def _summed(self, passage: PassageText, tokens: TokenStates) -> Vectors:
        """Return the sum of the states of each sentence's tokens, shape (sentences, dimensions)."""
        at, pieces = 0, [passage.head]
        for _, end in passage.sentences:
            pieces.append(passage.text[at:end])
            at = end
        begin = np.cumsum(self.embedder.token_counts(pieces)[:-1])
        # A sentence without a token of its own gets the nearest one.
        sums: Vectors = np.add.reduceat(tokens.states, np.minimum(begin, len(tokens.states) - 1), axis=0)
        return sums

    def _projected(self, tokens: TokenStates) -> bytes:
        projected = self.weights.project(tokens)
        return np.clip(np.round(projected * SCALE), -127, 127).astype(np.int8).tobytes()

    def _from_bytes(self, content: bytes) -> Int8:
        return np.frombuffer(content, np.int8).reshape(-1, self.weights.projection.shape[1])

    def _sums_key(self, passage: PassageText) -> bytes:
        return self._key(f"{PASS_VERSION} {passage.sentences}\x00{passage.whole}")

    def _key(self, text: str) -> bytes:
        name = f"{self._numbers}\x00{self.weights.key}\x00{text}"
        return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
