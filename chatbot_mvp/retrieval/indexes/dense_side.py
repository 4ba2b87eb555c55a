"""The vectors of a corpus. A knowledge base has one for each window (two neighbouring sentences) and each sentence.

If the embedding model gives states of tokens, one pass over each paragraph gives all of them, and the tokens for late
interaction as well (see ``late.passages``). Otherwise each window, with its heading, and each sentence is embedded
alone. The first window of each paragraph then comes first: with it, every paragraph can be compared with a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Embedder, TokenEmbedder, Vectors, vectors_id
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.retrieval.arrays import Ints
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, RowCosines, VectorStore
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.kb.passages import WINDOW_SENTENCES, Passage
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.late.matching import late_weights
from chatbot_mvp.retrieval.late.passages import PassageText, PassageTokens, joined
from chatbot_mvp.types import Progress, ProgressCallback

GONE = -1
"""In place of a row: the earlier version does not have it."""

PHASE = "embed_corpus"


@dataclass(frozen=True)
class EarlierVectors:
    """The vectors of a version whose texts were embedded in the same way."""

    kb: KbIndex
    windows: Vectors
    sentences: Vectors
    chunks: Vectors | None
    """None if they are not in memory."""


class Unchanged:
    """Which paragraphs, windows and sentences an earlier version has as well, and their vectors.

    The vectors of a paragraph's windows and sentences depend on its context, heading and text alone.

    Args:
        earlier: None for none; then everything is fresh.
    """

    def __init__(self, kb: KbIndex, earlier: EarlierVectors | None) -> None:
        self._kb = kb
        self._earlier = earlier
        passages = kb.matcher.passages
        row_of: dict[tuple[str, str, str], int] = {}
        if earlier is not None:
            known = enumerate(earlier.kb.matcher.passages)
            row_of = {(one.context, one.section, one.text): row for row, one in known}
        found = (row_of.get((one.context, one.section, one.text), GONE) for one in passages)
        self._passages: Ints = np.fromiter(found, np.int64, len(passages))

    @cached_property
    def fresh(self) -> Ints:
        """Rows of the paragraphs that the earlier version does not have, in rising order."""
        return np.flatnonzero(self._passages == GONE)

    @cached_property
    def fresh_windows(self) -> Ints:
        """Rows of the windows, and of the sentences, of ``fresh``."""
        return np.flatnonzero(self._windows == GONE)

    @property
    def count(self) -> int:
        """Number of distinct paragraphs that are not fresh."""
        return len(np.unique(self._passages[self._passages != GONE]))

    def windows(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all windows.

        Args:
            fresh: those of ``fresh_windows``.
        """
        return fresh if self._earlier is None else _spliced(self._windows, self._earlier.windows, fresh)

    def sentences(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all sentences. Argument as for ``windows``."""
        return fresh if self._earlier is None else _spliced(self._windows, self._earlier.sentences, fresh)

    @cached_property
    def with_documents(self) -> bool:
        """Whether the earlier version consists of short documents, too, and has their vectors in memory."""
        return self._earlier is not None and self._earlier.kb.is_corpus and self._earlier.chunks is not None

    def documents(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all short documents.

        Args:
            fresh: those of ``fresh`` paragraphs if ``with_documents``, else all of them.
        """
        if self._earlier is None or self._earlier.chunks is None or not self.with_documents:
            return fresh
        return _spliced(self._passages, self._earlier.chunks, fresh)

    @cached_property
    def _windows(self) -> Ints:
        """For each window, the row of the equal one of the earlier version; GONE if there is none."""
        matcher = self._kb.matcher
        if self._earlier is None:
            return np.full(len(matcher.window_passage), GONE, np.int64)
        passage = self._passages[matcher.window_passage]
        inside = np.arange(len(passage)) - matcher.first_window[matcher.window_passage]
        first: Ints = np.append(self._earlier.kb.matcher.first_window, 0)
        return np.where(passage == GONE, GONE, first[passage] + inside)


def _spliced(origin: Ints, earlier: Vectors, fresh: Vectors) -> Vectors:
    vectors = np.empty((len(origin), fresh.shape[1]), np.float32)
    kept = origin != GONE
    vectors[kept] = earlier[origin[kept]]
    vectors[~kept] = fresh
    return vectors


@dataclass(frozen=True)
class DenseSide:
    """The vectors of a corpus, and the model that embeds questions. Only strategies with vectors have one."""

    vectors: VectorStore
    """One row per chunk."""
    embedder: Embedder
    cache: VectorCache
    windows: RowCosines | None = None
    """For a knowledge base: one row per sentence window, in the order of its matcher."""
    sentences: RowCosines | None = None
    """For a knowledge base: one row per sentence, in the order of its matcher."""
    tokens: PassageTokens | None = None
    """The tokens of a knowledge base's paragraphs, from the same pass as the windows, or of a data set's documents,
    which are computed when they are needed. None if the embedding model has no weights for late interaction."""
    share: float = 1.0
    """Share (0-1) of the corpus' texts whose vectors are used."""


def kb_sides(
    kb: KbIndex,
    embedder: Embedder,
    cache: VectorCache,
    tokens: PassageTokens | None,
    store: VectorStoreChoice,
    progress: ProgressCallback,
    earlier: tuple[KbIndex, DenseSide] | None = None,
) -> Iterator[DenseSide]:
    """Embed a knowledge base and yield its vectors as they get better.

    With ``tokens`` there is one level. Otherwise one window for each paragraph comes first, which is skipped if the
    cache has everything.

    Args:
        earlier: another version and its vectors: those of common paragraphs are taken from it if they are in memory.
    """
    matcher = kb.matcher
    unchanged = Unchanged(kb, _usable(earlier, embedder, tokens))
    of_fresh = matcher.window_passage[unchanged.fresh_windows]
    if tokens is not None:
        read = [read_of(matcher.passages[row]) for row in unchanged.fresh.tolist()]
        sums = tokens.compute(read, _part_of(progress, unchanged.count), PHASE)
        windows = unchanged.windows(_unit(_window_sums(sums, of_fresh)))
        sentences = unchanged.sentences(_unit(sums))
    else:
        texts = kb_texts(kb)
        rows = unchanged.fresh_windows
        fresh = [texts[row] for row in (*rows.tolist(), *(rows + len(texts) // 2).tolist())]
        total, changed = len(set(texts)), len(set(fresh))
        report = _part_of(progress, total - changed, total)
        if cache.count(embedder, fresh, "passage") < changed:
            first_texts = [matcher.window_text(row) for row in matcher.first_window[unchanged.fresh].tolist()]
            first = cache.embed(embedder, first_texts, "passage", report, PHASE)
            # A paragraph's other windows count as its first one until their vectors are there.
            windows = unchanged.windows(first[np.searchsorted(unchanged.fresh, of_fresh)])
            exact = ExactVectors(windows)
            chunks = ExactVectors(_chunk_vectors(windows, kb))
            share = (total - changed + len(set(first_texts))) / total
            yield DenseSide(chunks, embedder, cache, exact, exact, share=share)
        matrix = cache.embed(embedder, fresh, "passage", report, PHASE)
        of_windows, of_sentences = np.split(matrix, [len(rows)])
        windows, sentences = unchanged.windows(of_windows), unchanged.sentences(of_sentences)
    vectors = store.make(_whole(windows, kb, embedder, cache, unchanged), embedder.model_id, progress)
    yield DenseSide(
        vectors,
        embedder,
        cache,
        store.rows(windows, embedder.model_id, progress, "windows"),
        store.rows(sentences, embedder.model_id, progress, "sentences"),
        tokens,
    )


def _usable(
    earlier: tuple[KbIndex, DenseSide] | None, embedder: Embedder, tokens: PassageTokens | None
) -> EarlierVectors | None:
    """Return the vectors of another version if they are complete, of the same model, and in memory."""
    if earlier is None:
        return None
    kb, side = earlier
    same = vectors_id(side.embedder) == vectors_id(embedder) and (side.tokens is None) == (tokens is None)
    windows = None if side.windows is None else side.windows.matrix
    sentences = None if side.sentences is None else side.sentences.matrix
    if not same or side.share < 1 or windows is None or sentences is None:
        return None
    return EarlierVectors(kb, windows, sentences, side.vectors.matrix)


def passage_tokens(embedder: Embedder, path: Path) -> PassageTokens | None:
    """Return the tokens cached at ``path``; None if the late interaction has no weights for the embedding model."""
    weights = late_weights()
    if not isinstance(embedder, TokenEmbedder) or embedder.model_id != weights.model_id:
        return None
    return PassageTokens(path, embedder, weights)


def passages_read(kb: KbIndex) -> list[PassageText]:
    """Return the paragraphs of a knowledge base as the embedding model reads them in one pass."""
    return [*map(read_of, kb.matcher.passages)]


def read_of(passage: Passage) -> PassageText:
    """Return a paragraph as the embedding model reads it in one pass."""
    return PassageText(_head(passage), passage.text, tuple(passage.sentences))


def texts_of(passage: Passage) -> Iterator[str]:
    """Yield all texts of a paragraph that may be embedded alone: windows, sentences, and itself as a document."""
    for start, end in passage.windows:
        yield joined(_head(passage), passage.text[start:end])
    for start, end in passage.sentences:
        yield passage.text[start:end]
    yield joined(passage.section, passage.text)


def passage_texts(kb: KbIndex, rows: Iterable[int]) -> list[str]:
    """Return the ``whole`` of some of ``passages_read``."""
    return [joined(_head(passage), passage.text) for passage in (kb.matcher.passages[row] for row in rows)]


def kb_texts(kb: KbIndex) -> list[str]:
    """Return all texts of a knowledge base that are embedded alone: its windows, then its sentences."""
    rows, matcher = range(len(kb.matcher.window_passage)), kb.matcher
    return [*map(matcher.window_text, rows), *map(matcher.sentence_text, rows)]


def _head(passage: Passage) -> str:
    return "\n".join(filter(None, (passage.context, passage.section)))


def _part_of(progress: ProgressCallback, before: int, total: int | None = None) -> ProgressCallback:
    """Report progress on some of the texts as progress on all of them.

    Args:
        before: number of texts that were there already.
        total: number of all texts; None if the reports are about all others.
    """

    def report(part: Progress) -> None:
        whole = before + part.total if total is None else total
        progress(Progress(part.phase, before + part.done, whole, part.seconds, before + part.done_before))

    return report


def _window_sums(sums: Vectors, passage_of: NDArray[np.int64]) -> Vectors:
    """Add to each sentence's sum those of the next sentences of its window, shape (windows, dimensions)."""
    windows = sums.copy()
    for ahead in range(1, min(WINDOW_SENTENCES, len(sums))):
        together = passage_of[ahead:] == passage_of[:-ahead]
        windows[:-ahead][together] += sums[ahead:][together]
    return windows


def _whole(windows: Vectors, kb: KbIndex, embedder: Embedder, cache: VectorCache, unchanged: Unchanged) -> Vectors:
    """Return one vector per chunk, shape (chunks, dimensions)."""
    if not kb.is_corpus:
        return _chunk_vectors(windows, kb)
    # A short document has the vector that it has in a data set, because a walk over links compares it as a whole.
    passages = kb.matcher.passages
    rows = unchanged.fresh.tolist() if unchanged.with_documents else range(len(passages))
    texts = [joined(passages[row].section, passages[row].text) for row in rows]
    return unchanged.documents(cache.embed(embedder, texts, "passage"))


def _chunk_vectors(windows: Vectors, kb: KbIndex) -> Vectors:
    """Return the mean direction of each chunk's windows, shape (chunks, dimensions), rows of unit length."""
    sums = np.zeros((len(kb.chunks), windows.shape[1]), dtype=np.float32)
    for vector, passage in zip(windows, kb.matcher.window_passage, strict=True):
        for position in kb.matcher.passages[passage].hits:
            sums[position] += vector
    return _unit(sums)


def _unit(vectors: Vectors) -> Vectors:
    """Scale the rows to unit length in place, because those of a book take 90 MB."""
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors
