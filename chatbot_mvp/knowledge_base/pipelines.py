"""Pipelines over knowledge bases that stay in memory, the least used leaving first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from chatbot_mvp.retrieval.pipeline import Pipeline

Key = tuple[str, ...]
"""(knowledge base's id, hash of its text, and what else tells pipelines over it apart)."""


class PipelinePool:
    """Safe to share between threads: many first questions at once build a pipeline once."""

    def __init__(self, kept: int) -> None:
        """``kept``: how many stay."""
        self._kept = kept
        self._pipelines: OrderedDict[Key, Pipeline] = OrderedDict()
        self._building: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, build: Callable[[], Pipeline]) -> Pipeline:
        """The pipeline of ``key``; ``build`` makes it if it is not there, and may raise."""
        if (pipeline := self._found(key)) is not None:
            return pipeline
        with self._lock:
            building = self._building.setdefault(key, threading.Lock())
        with building:
            if (pipeline := self._found(key)) is not None:
                return pipeline
            pipeline = build()
            with self._lock:
                self._pipelines[key] = pipeline
                while len(self._pipelines) > self._kept:
                    self._pipelines.popitem(last=False)
        return pipeline

    def drop(self, kb_id: str) -> None:
        """Forget the pipelines of a knowledge base."""
        with self._lock:
            for key in [key for key in self._pipelines if key[0] == kb_id]:
                del self._pipelines[key]

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._pipelines.clear()

    def _found(self, key: Key) -> Pipeline | None:
        with self._lock:
            if key in self._pipelines:
                self._pipelines.move_to_end(key)
            return self._pipelines.get(key)
