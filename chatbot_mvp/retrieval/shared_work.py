"""Share indexes and the results of stages between pipelines, to measure many configurations over the same questions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import Earlier, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress, last

_INDEXES = 6
"""Indexes in memory: with and without vectors and links, of several chunk sizes."""
_HITS = 400_000
"""Hits in the kept results of stages, about 300 MB."""


class SharedWork:
    """What pipelines of one tune have in common. For one thread."""

    def __init__(self) -> None:
        self._indexes: BoundedCache[Hashable, CorpusIndex] = BoundedCache(_INDEXES)
        self._results: BoundedCache[Hashable, _Result] = BoundedCache(_HITS, lambda found: found.weight)
        self._read: dict[type[Stage], set[tuple[str, ...]]] = {}
        """Stage -> sets of settings that its results depended on."""
        self._starts: dict[tuple[str, tuple[Earlier, ...]], RetrievalTrace] = {}

    def index(
        self,
        chunks: Sequence[Chunk],
        language: str,
        cache_dir: Path,
        embedder: Callable[[], Embedder] | None,
        progress: ProgressCallback = ignore_progress,
        with_links: bool = False,
        store: VectorStoreChoice | None = None,
        indexed: Sequence[Chunk] | None = None,
        earlier: CorpusIndex | None = None,
    ) -> Iterator[CorpusIndex]:
        """Yield the complete index that ``growing_index`` builds for these arguments, built once."""
        model = embedder().model_id if embedder is not None else ""
        key = (tuple(chunks), language, model, with_links, store, None if indexed is None else tuple(indexed))
        growing = growing_index(chunks, language, cache_dir, embedder, progress, with_links, store, indexed, earlier)
        yield self._indexes.get_or_build(key, lambda: last(growing))

    def stage(self, kind: type[Stage], index: CorpusIndex, config: Settings) -> Stage:
        """Create a stage whose results are shared with stages of other configurations."""
        return kind(index, cast(Settings, _Watched(config)))

    def start(self, query: str, *, earlier: tuple[Earlier, ...] = ()) -> RetrievalTrace:
        """Return the trace from which all pipelines start a question; ``earlier`` is what was said before it."""
        return self._starts.setdefault((query, earlier), RetrievalTrace(query, earlier=earlier))

    def run(self, stage: Stage, traces: Sequence[RetrievalTrace]) -> list[RetrievalTrace]:
        """Run a stage over the traces for which no stage of its kind has a result under the settings that it reads.

        A result is used again for the very trace that it was computed from, if all settings that the stage read have
        equal values. The records of a trace keep the seconds that its stages took when they ran.
        """
        watched: Any = stage.config
        if not isinstance(watched, _Watched):
            return stage.run_batch(traces)  # it asks a model
        found = [self._known(stage, watched, trace) for trace in traces]
        missing = [trace for trace, known in zip(traces, found, strict=True) if known is None]
        fresh = iter(stage.run_batch(missing) if missing else ())
        results = []
        for trace, known in zip(traces, found, strict=True):
            following = next(fresh) if known is None else known
            if known is None:
                names = tuple(sorted(watched.names_read))
                self._read.setdefault(type(stage), set()).add(names)
                self._results.put(_key(stage, watched, names, trace), _Result(stage.index, trace, following))
            results.append(following)
        return results

    def _known(self, stage: Stage, watched: _Watched, trace: RetrievalTrace) -> RetrievalTrace | None:
        for names in self._read.get(type(stage), ()):
            found = self._results.get(_key(stage, watched, names, trace))
            if found is not None and found.given is trace and found.index is stage.index:
                return found.following
        return None


class _Watched:
    """A ``Settings`` that notes which of its fields a stage reads."""

    def __init__(self, config: Settings) -> None:
        self.config = config
        self.names_read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names_read.add(name)
        return getattr(self.config, name)


@dataclass(frozen=True, slots=True, eq=False)
class _Result:
    """A result of a stage. Keeps what its key identifies by address, so that the address is not used again."""

    index: CorpusIndex
    given: RetrievalTrace
    following: RetrievalTrace

    @property
    def weight(self) -> int:
        return 1 + len(self.following.hits) + sum(map(len, self.following.candidates.values()))


def _key(stage: Stage, watched: _Watched, names: tuple[str, ...], trace: RetrievalTrace) -> Hashable:
    values = tuple(getattr(watched.config, name) for name in names)
    return (type(stage), id(stage.index), id(trace), names, values)
