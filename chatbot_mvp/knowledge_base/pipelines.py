"""Pipelines over knowledge bases that stay in memory, the least used leaving first."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.knowledge_base.growth import GrowingPipeline
from chatbot_mvp.knowledge_base.memory import return_freed_memory
from chatbot_mvp.storage.lru import BoundedCache

Key = tuple[str, ...]
"""(knowledge base's id, hash of its text, and what else tells pipelines over it apart)."""


class PipelinePool:
    """Safe to share between threads: many first questions at once build a pipeline once."""

    def __init__(self, max_chars: int) -> None:
        """
        Args:
            max_chars: characters of the knowledge bases whose pipelines stay; the newest pipeline always stays.
        """
        self._pipelines: BoundedCache[Key, GrowingPipeline] = BoundedCache(max_chars, lambda kept: kept.chars)
        self._tidied = 0  # pipelines that had left when memory was last given back

    def get(self, key: Key, build: Callable[[], GrowingPipeline]) -> GrowingPipeline:
        """The pipeline of ``key``; ``build`` makes it if it is not there or its vectors failed, and may raise."""
        if (found := self._pipelines.get(key)) is not None and found.failure is not None:
            self._pipelines.drop(lambda kept: kept == key)

        def build_and_tidy() -> GrowingPipeline:
            if self._pipelines.evicted > self._tidied:
                self._tidied = self._pipelines.evicted
                return_freed_memory()
            return build()

        return self._pipelines.get_or_build(key, build_and_tidy)

    def peek(self, key: Key) -> GrowingPipeline | None:
        """The pipeline of ``key`` if it is there."""
        return self._pipelines.get(key)

    def drop(self, kb_id: str) -> None:
        """Forget the pipelines of a knowledge base, those too that are being built, and wait until their work stops."""
        for dropped in self._pipelines.drop(lambda key: key[0] == kb_id):
            dropped.stop()

    def clear(self) -> None:
        """Forget all pipelines, those too that are being built. Work that somebody waits for goes on."""
        self._pipelines.clear()
