"""Pipelines over knowledge bases: each answers from words at once and gets its vectors later; the used ones stay."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator

from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.knowledge_base.memory import return_freed_memory
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.2

Grow = Callable[[ProgressCallback], Iterator[Pipeline]]
"""Yields pipelines that get better, and reports its progress; the callback may raise to stop it."""


class GrowingPipeline:
    """The best pipeline so far over one knowledge base. Safe to share between threads."""

    def __init__(self, kb_id: str, grow: Grow, progress: ProgressCallback = ignore_progress) -> None:
        """Wait for the first pipeline; a thread of its own computes the better ones.

        Args:
            progress: called until the first pipeline is there; may raise to stop.

        Raises:
            Exception: whatever ``grow`` or ``progress`` raised before the first pipeline.
        """
        self._kb_id = kb_id
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self.progress: Progress | None = None
        """The latest progress; None if nothing was reported."""
        self.failure: BaseException | None = None
        """Why the vectors could not be computed; None unless that happened."""
        self._listener = progress
        self._started = time.monotonic()
        levels = grow(self._report)
        self._best = next(levels)
        self._listener = ignore_progress
        self._thread: threading.Thread | None = None
        if self.is_complete:
            self._finish(levels)
        else:
            # Daemon thread: the server exits without waiting. Computed vectors stay in the cache.
            self._thread = threading.Thread(target=self._grow, args=(levels,), name="vectors", daemon=True)
            self._thread.start()

    def best(self, patience_s: float = 0.0) -> Pipeline:
        """Return the best pipeline so far.

        Args:
            patience_s: wait for the complete pipeline until this many seconds after the work began, so that vectors
                that only have to be read from the cache are used.
        """
        if self._thread is not None:
            self._thread.join(max(0.0, self._started + patience_s - time.monotonic()))
        return self._best

    @property
    def chars(self) -> int:
        """Length of the knowledge base in characters."""
        return self._best.index.source_chars

    @property
    def latest(self) -> Pipeline:
        """The best pipeline so far, without waiting."""
        return self._best

    @property
    def is_complete(self) -> bool:
        """Whether there is no better pipeline to come: all vectors are there, or none are wanted."""
        return self._best.vectors_share in (None, 1.0)

    @property
    def growing(self) -> bool:
        """Whether a better pipeline is being computed."""
        return self._thread is not None and self._thread.is_alive()

    def complete(self, progress: ProgressCallback = ignore_progress) -> Pipeline:
        """Wait for the last and best pipeline and return it.

        Args:
            progress: called with new progress; may raise to stop waiting, while the work goes on.

        Raises:
            RunStopped: the work was stopped.
            Exception: why the vectors could not be computed.
        """
        seen: Progress | None = None
        while self.growing:
            with self._changed:
                self._changed.wait(_LOOK_EVERY_S)
            if self.progress is not None and self.progress is not seen:
                seen = self.progress
                progress(seen)
        if self.failure is not None:
            raise self.failure
        return self._best

    def stop(self) -> None:
        """Stop the work at the next safe place and wait for that. Computed vectors stay in the cache."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _grow(self, levels: Iterator[Pipeline]) -> None:
        try:
            self._finish(levels)
        except ChatbotError as error:
            self.failure = error
        except BaseException as error:  # a thread has no caller: whoever waits gets it
            log.exception("the vectors of a knowledge base could not be computed")
            self.failure = error
        finally:
            with self._changed:
                self._changed.notify_all()

    def _finish(self, levels: Iterator[Pipeline]) -> None:
        for better in levels:
            self._best = better

    def _report(self, progress: Progress) -> None:
        if self._stopping.is_set():
            raise RunStopped(run_id=self._kb_id)
        self.progress = progress
        self._listener(progress)
        with self._changed:
            self._changed.notify_all()


JOINED = "+"
"""Stands between the ids of several knowledge bases that are searched together; no id has it."""
Key = tuple[str, ...]
"""(knowledge base's id, or several that are ``JOINED``; hash of its text; and what else tells pipelines over it
apart)."""


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

    def other_version(self, key: Key) -> GrowingPipeline | None:
        """The latest pipeline over another version of the same knowledge base, which is otherwise the same."""
        return self._pipelines.newest(lambda kept: kept != key and (kept[0], *kept[2:]) == (key[0], *key[2:]))

    def of(self, kb_id: str) -> list[GrowingPipeline]:
        """The pipelines over all versions of a knowledge base."""
        return self._pipelines.values(lambda key: key[0] == kb_id)

    def keep_only(self, kb_id: str, texts: Collection[str]) -> None:
        """Forget the pipelines over versions of a knowledge base with other texts, and wait until their work stops.

        Args:
            texts: hashes of the texts.
        """
        for dropped in self._pipelines.drop(lambda key: key[0] == kb_id and key[1] not in texts):
            dropped.stop()

    def drop(self, kb_id: str) -> None:
        """Forget the pipelines of a knowledge base, those too that are being built, and wait until their work stops."""
        for dropped in self._pipelines.drop(lambda key: key[0] == kb_id):
            dropped.stop()

    def drop_joined(self, kb_id: str) -> None:
        """Forget the pipelines over several knowledge bases of which this is one, as ``drop``."""
        for dropped in self._pipelines.drop(lambda key: JOINED in key[0] and kb_id in key[0].split(JOINED)):
            dropped.stop()

    def clear(self) -> None:
        """Forget all pipelines, those too that are being built. Work that somebody waits for goes on."""
        self._pipelines.clear()
