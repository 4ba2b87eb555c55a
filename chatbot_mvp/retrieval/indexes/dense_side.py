"""The vectors of a corpus. Those of a knowledge base come in two levels, so that they can be used before all are there.

Of a knowledge base, windows (two neighbouring sentences with their heading) and single sentences are embedded. The
first window of each paragraph comes first: with it, every paragraph can be compared with a question. If the model gives
states of tokens, the tokens of all paragraphs come last (see ``late``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Embedder, TokenEmbedder, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.vector_store import VectorStore, VectorStoreChoice
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.late.passages import PassageTokens
from chatbot_mvp.retrieval.late.weights import late_weights
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
    tokens: PassageTokens | None = None
    """The tokens of a knowledge base's paragraphs (``passage_texts``), or of a data set's documents, which are computed
    when they are needed. None if a knowledge base's are not there yet, if the late interaction has no weights for the
    embedding model, or if the strategy compares no tokens."""
    share: float = 1.0
    """Share (0-1) of the corpus' texts whose vectors are used."""


def corpus_side(
    texts: Sequence[str],
    embedder: Embedder,
    cache: VectorCache,
    tokens: PassageTokens | None,
    store: VectorStoreChoice,
    progress: ProgressCallback,
) -> DenseSide:
    """Embed a corpus of whole passages."""
    matrix = cache.embed(embedder, texts, "passage", progress, PHASE)
    return DenseSide(store.make(matrix, embedder.model_id, progress), embedder, cache, tokens=tokens)


def kb_sides(
    kb: KbIndex,
    embedder: Embedder,
    cache: VectorCache,
    tokens: PassageTokens | None,
    store: VectorStoreChoice,
    progress: ProgressCallback,
) -> Iterator[DenseSide]:
    """Embed a knowledge base and yield its vectors as they get better.

    First with one window for each paragraph, then with all windows and sentences, at last with ``tokens``. A level is
    skipped if the cache has the next one.
    """
    matcher = kb.matcher
    texts, passages = kb_texts(kb), passage_texts(kb)
    embedded = len(set(texts))
    total = embedded + (len(set(passages)) if tokens is not None else 0)
    first_texts = [matcher.window_texts[row] for row in matcher.first_window]
    if cache.count(embedder.model_id, texts, "passage") < embedded:
        first = cache.embed(embedder, first_texts, "passage", _part_of(progress, total), PHASE)
        # A paragraph's other windows count as its first one until their vectors are there.
        windows = first[matcher.window_passage]
        exact = ExactVectors(windows)
        chunks = ExactVectors(_chunk_vectors(windows, kb))
        yield DenseSide(chunks, embedder, cache, exact, exact, share=len(set(first_texts)) / total)
    matrix = cache.embed(embedder, texts, "passage", _part_of(progress, total), PHASE)
    windows, sentences = np.split(matrix, [len(matcher.window_texts)])
    # A short document has the vector that it has in a data set, because a walk over links compares it as a whole.
    whole = cache.embed(embedder, passages, "passage") if kb.is_corpus else _chunk_vectors(windows, kb)
    vectors = store.make(whole, embedder.model_id, progress)
    side = DenseSide(vectors, embedder, cache, ExactVectors(windows), ExactVectors(sentences))
    if tokens is None:
        yield side
        return
    if tokens.count(passages) < total - embedded:
        yield replace(side, share=embedded / total)
    tokens.compute(passages, _part_of(progress, total, embedded), PHASE)
    yield replace(side, tokens=tokens)


def passage_tokens(embedder: Embedder, path: Path) -> PassageTokens | None:
    """Return the tokens cached at ``path``; None if the late interaction has no weights for the embedding model."""
    weights = late_weights()
    if not isinstance(embedder, TokenEmbedder) or embedder.model_id != weights.model_id:
        return None
    return PassageTokens(path, embedder, weights)


def passage_texts(kb: KbIndex, rows: Iterable[int] | None = None) -> list[str]:
    """Return paragraphs of a knowledge base with their headings, as late interaction reads them; by default all."""
    passages = kb.matcher.passages if rows is None else [kb.matcher.passages[row] for row in rows]
    return [f"{passage.section}\n{passage.text}" if passage.section else passage.text for passage in passages]


def kb_texts(kb: KbIndex) -> list[str]:
    """Return all texts of a knowledge base that are embedded: its windows, then its sentences."""
    return [*kb.matcher.window_texts, *kb.matcher.sentence_texts]


def _part_of(progress: ProgressCallback, total: int, before: int = 0) -> ProgressCallback:
    """Report progress on some of ``total`` texts, after ``before`` others, as progress on all of them."""

    def report(part: Progress) -> None:
        progress(Progress(part.phase, before + part.done, total, part.seconds, before + part.done_before))

    return report


def _chunk_vectors(windows: Vectors, kb: KbIndex) -> Vectors:
    """Return the mean direction of each chunk's windows, shape (chunks, dimensions), rows of unit length."""
    sums = np.zeros((len(kb.chunks), windows.shape[1]), dtype=np.float32)
    for vector, passage in zip(windows, kb.matcher.window_passage, strict=True):
        for position in kb.matcher.passages[passage].hits:
            sums[position] += vector
    normalized: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return normalized
