"""All that is built once for a corpus and searched many times; kept on disk by content."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from chatbot_mvp.embedding.base import Embedder, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.kb.vocabulary import KbIndex, build_bm25_index
from chatbot_mvp.retrieval.dense import ExactVectors
from chatbot_mvp.retrieval.lexical import INDEX_VERSION, LexicalIndex
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress


@dataclass(frozen=True)
class DenseSide:
    """What a strategy with vectors needs: the corpus' vectors and the means to embed a question."""

    vectors: ExactVectors
    """One row for each chunk."""
    embedder: Embedder
    cache: VectorCache
    batch_size: int
    windows: ExactVectors | None = None
    """Of a knowledge base: one row for each sentence window, in the order of its matcher."""


@dataclass(frozen=True)
class CorpusIndex:
    """The chunks of a corpus and their indexes. Row numbers are positions in ``chunks``."""

    chunks: Sequence[Chunk]
    lexical: LexicalIndex
    dense: DenseSide | None
    kb: KbIndex | None = None
    """Of chunks that were cut from longer documents; None for a corpus of whole passages."""

    @property
    def analyzer(self) -> Analyzer:
        return self.lexical.analyzer

    def idf(self, term: str) -> float:
        """Inverse document frequency as in BM25: ln(1 + (N - n + 0.5) / (n + 0.5)); at its highest for n = 0."""
        n = self.lexical.document_frequency(term)
        return math.log(1 + (len(self.chunks) - n + 0.5) / (n + 0.5))


def build_index(
    chunks: Sequence[Chunk],
    language: str,
    cache_dir: Path,
    embedder: Callable[[], Embedder] | None,
    batch_size: int,
    progress: ProgressCallback = ignore_progress,
) -> CorpusIndex:
    """Build or load the indexes of ``chunks``.

    Args:
        embedder: makes the embedding model; None for a strategy without vectors.
        batch_size: texts embedded in one call.
        progress: told of the phases "index" and "embed_corpus"; may raise to stop, what is done stays cached.
    """
    analyzer = Analyzer(language)
    kb = build_bm25_index(chunks, language) if any(chunk.chunk_id != chunk.doc_id for chunk in chunks) else None
    if kb is not None:
        chunks = kb.chunks
    folder = cache_dir / "indexes" / _content_key(chunks, analyzer)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lexical = LexicalIndex.open(folder, analyzer)
    if lexical is None:
        # Two processes on the same corpus: the second waits and finds it built.
        with FileLock(f"{folder}.lock"):
            lexical = LexicalIndex.open(folder, analyzer) or LexicalIndex.build(chunks, analyzer, folder, progress)
    if embedder is None:
        return CorpusIndex(chunks, lexical, None, kb)
    model = embedder()
    cache = VectorCache(cache_dir / "vectors.sqlite")
    texts = [chunk.index_text for chunk in chunks] if kb is None else kb.matcher.window_texts
    matrix = cache.embed(model, texts, "passage", batch_size, progress, "embed_corpus")
    if kb is None:
        return CorpusIndex(chunks, lexical, DenseSide(ExactVectors(matrix), model, cache, batch_size))
    side = DenseSide(ExactVectors(_chunk_vectors(matrix, kb)), model, cache, batch_size, ExactVectors(matrix))
    return CorpusIndex(chunks, lexical, side, kb)


def _chunk_vectors(windows: Vectors, kb: KbIndex) -> Vectors:
    """Shape (chunks, dimensions): the mean direction of each chunk's windows."""
    sums = np.zeros((len(kb.chunks), windows.shape[1]), dtype=np.float32)
    for vector, passage in zip(windows, kb.matcher.window_passage, strict=True):
        for position in kb.matcher.passages[passage].hits:
            sums[position] += vector
    normalized: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return normalized


def _content_key(chunks: Sequence[Chunk], analyzer: Analyzer) -> str:
    digest = hashlib.sha256(f"{INDEX_VERSION} {analyzer.key}".encode())
    for chunk in chunks:
        digest.update(f"\x00{chunk.chunk_id}\x01{chunk.index_text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:24]
