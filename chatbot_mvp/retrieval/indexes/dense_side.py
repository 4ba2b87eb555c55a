"""The vectors of a corpus. Those of a knowledge base come in two levels, so that they can be used before all are there.

Of a knowledge base, windows (two neighbouring sentences with their heading) and single sentences are embedded. The
first window of each paragraph comes first: with it, every paragraph can be compared with a question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.embedding.base import Embedder, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.vector_store import VectorStore, VectorStoreChoice
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.types import Progress, ProgressCallback

PHASE = "embed_corpus"


@dataclass(frozen=True)
class DenseSide:
    """The vectors of a corpus, and the model that embeds questions. Only strategies with vectors have one."""

    vectors: VectorStore
    """One row per chunk."""
    embedder: Embedder
    cache: VectorCache
    windows: ExactVectors | None = None
    """For a knowledge base: one row per sentence window, in the order of its matcher."""
    sentences: ExactVectors | None = None
    """For a knowledge base: one row per sentence, in the order of its matcher."""
    share: float = 1.0
    """Share (0-1) of the corpus' texts whose vectors are used."""


def corpus_side(
    texts: Sequence[str], embedder: Embedder, cache: VectorCache, store: VectorStoreChoice, progress: ProgressCallback
) -> DenseSide:
    """Embed a corpus of whole passages."""
    matrix = cache.embed(embedder, texts, "passage", progress, PHASE)
    return DenseSide(store.make(matrix, embedder.model_id, progress), embedder, cache)


def kb_sides(
    kb: KbIndex, embedder: Embedder, cache: VectorCache, store: VectorStoreChoice, progress: ProgressCallback
) -> Iterator[DenseSide]:
    """Embed a knowledge base and yield its vectors twice: with one window for each paragraph, and with all.

    The first level is skipped if the cache has all vectors.
    """
    matcher = kb.matcher
    texts = kb_texts(kb)
    total = len(set(texts))
    first_texts = [matcher.window_texts[row] for row in matcher.first_window]
    if cache.count(embedder.model_id, texts, "passage") < total:
        first = cache.embed(embedder, first_texts, "passage", _part_of(progress, total), PHASE)
        # A paragraph's other windows count as its first one until their vectors are there.
        windows = first[matcher.window_passage]
        exact = ExactVectors(windows)
        chunks = ExactVectors(_chunk_vectors(windows, kb))
        yield DenseSide(chunks, embedder, cache, exact, exact, share=len(set(first_texts)) / total)
    matrix = cache.embed(embedder, texts, "passage", progress, PHASE)
    windows, sentences = np.split(matrix, [len(matcher.window_texts)])
    vectors = store.make(_chunk_vectors(windows, kb), embedder.model_id, progress)
    yield DenseSide(vectors, embedder, cache, ExactVectors(windows), ExactVectors(sentences))


def kb_texts(kb: KbIndex) -> list[str]:
    """Return all texts of a knowledge base that are embedded: its windows, then its sentences."""
    return [*kb.matcher.window_texts, *kb.matcher.sentence_texts]


def _part_of(progress: ProgressCallback, total: int) -> ProgressCallback:
    """Report progress on some of ``total`` texts as progress on all of them."""

    def report(part: Progress) -> None:
        progress(Progress(part.phase, part.done, total, part.seconds, part.done_before))

    return report


def _chunk_vectors(windows: Vectors, kb: KbIndex) -> Vectors:
    """Return the mean direction of each chunk's windows, shape (chunks, dimensions), rows of unit length."""
    sums = np.zeros((len(kb.chunks), windows.shape[1]), dtype=np.float32)
    for vector, passage in zip(windows, kb.matcher.window_passage, strict=True):
        for position in kb.matcher.passages[passage].hits:
            sums[position] += vector
    normalized: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return normalized
