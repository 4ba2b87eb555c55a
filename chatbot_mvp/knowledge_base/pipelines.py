"""Pipelines over knowledge bases that stay in memory, the least used leaving first."""

from __future__ import annotations

from collections.abc import Callable

from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.storage.lru import BoundedCache

Key = tuple[str, ...]
"""(knowledge base's id, hash of its text, and what else tells pipelines over it apart)."""


class PipelinePool:
    """Safe to share between threads: many first questions at once build a pipeline once."""

    def __init__(self, kept: int, weigh: Callable[[Pipeline], int] = lambda _: 1) -> None:
        """
        Args:
            kept: maximum sum of the weights of the pipelines that stay. The newest one always stays.
            weigh: returns the weight of a pipeline; by default 1, so that ``kept`` is a number of pipelines.
        """
        self._pipelines: BoundedCache[Key, Pipeline] = BoundedCache(kept, weigh)

    def get(self, key: Key, build: Callable[[], Pipeline]) -> Pipeline:
        """The pipeline of ``key``; ``build`` makes it if it is not there, and may raise."""
        return self._pipelines.get_or_build(key, build)

    def drop(self, kb_id: str) -> None:
        """Forget the pipelines of a knowledge base, those too that are being built."""
        self._pipelines.drop(lambda key: key[0] == kb_id)

    def clear(self) -> None:
        """Forget all pipelines, those too that are being built."""
        self._pipelines.clear()
