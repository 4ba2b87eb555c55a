"""Share indexes between the configurations of a tune, because most knobs change no index."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress, last

_KEPT = 6
"""Indexes in memory: with and without vectors and links."""


class SharedIndexes:
    """Builds indexes as ``growing_index`` does, complete ones only, and keeps them for later calls."""

    def __init__(self) -> None:
        self._indexes: BoundedCache[Hashable, CorpusIndex] = BoundedCache(_KEPT)

    def __call__(
        self,
        chunks: Sequence[Chunk],
        language: str,
        cache_dir: Path,
        embedder: Callable[[], Embedder] | None,
        progress: ProgressCallback = ignore_progress,
        with_links: bool = False,
        store: VectorStoreChoice | None = None,
        indexed: Sequence[Chunk] | None = None,
    ) -> Iterator[CorpusIndex]:
        model = embedder().model_id if embedder is not None else ""
        key = (tuple(chunks), language, model, with_links, store, None if indexed is None else tuple(indexed))

        def build() -> CorpusIndex:
            return last(growing_index(chunks, language, cache_dir, embedder, progress, with_links, store, indexed))

        yield self._indexes.get_or_build(key, build)
