"""The pipelines that answer from knowledge bases: over one version, over some of its documents, over several."""

from __future__ import annotations

import logging
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from chatbot_mvp.errors import (
    ChatbotError,
    ProviderLeft,
)
from chatbot_mvp.knowledge_base.filters import DocumentFilter, nothing_found
from chatbot_mvp.knowledge_base.kb_texts import KbTexts
from chatbot_mvp.knowledge_base.pipelines import JOINED, GrowingPipeline, Key, PipelinePool
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.llm.base import Completion, ignore_reply
from chatbot_mvp.llm.providers import following
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.indexes.keeping import keep_rows
from chatbot_mvp.retrieval.indexes.versions import forget_other_indexes
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.search import OF_PIPELINE, OtherSearch, other_search, with_search
from chatbot_mvp.retrieval.strategies import asks_while_searching, get_strategy
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings, Snapshot
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress, last

log = logging.getLogger(__name__)

_CHARS_KEPT = 6_000_000
"""Characters of the knowledge bases whose indexes stay in memory, each million in ``memory.MB_PER_MILLION``."""


class KbPipelines(KbTexts):
    """Makes and keeps pipelines over knowledge bases. What takes an id raises as ``KbTexts`` says."""

    def __init__(self, live: LiveSettings, factory: PipelineFactory) -> None:
        super().__init__(live)
        self._factory = factory
        self._pipelines = PipelinePool(_CHARS_KEPT)
        self._lock = threading.Lock()
        self._built: Counter[str] = Counter()
        """Id -> number of pipelines that are being built over it."""
        self._changed: set[str] = set()
        """Ids of those where files and rows of other versions may be left."""
        self._version = live.snapshot.version

    def pipeline(
        self, kb_id: str, progress: ProgressCallback = ignore_progress, search: OtherSearch = (), version: str = ""
    ) -> Pipeline:
        """The complete pipeline over a knowledge base; the first call builds its indexes and waits for its vectors.

        Args:
            search: settings of retrieval that differ from those in effect. Each set of them has its own pipeline.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
            NeedsLanguageModel, MissingPackage, ProviderNotConfigured: ``search`` needs something that is not there.
            ProviderError: the embedding model failed.
        """
        return self.growing(kb_id, progress, search, version).complete(progress)

    def pipeline_under(
        self,
        kb_id: str,
        settings: Settings,
        progress: ProgressCallback = ignore_progress,
        on_reply: Callable[[Completion], None] = ignore_reply,
        factory: PipelineFactory | None = None,
        version: str = "",
    ) -> Pipeline:
        """The pipeline over a knowledge base with all settings of a run, which may differ from those in effect.

        Args:
            on_reply: called with every reply of a language model. A pipeline that needs one is built anew for that.
            factory: builds that one; None for the usual one.

        Raises:
            KbNotFound, KbUnreadable, NeedsLanguageModel, MissingPackage, ProviderNotConfigured, ProviderError
            FilterError: KB_FILTER cannot be read, or no document meets it.
        """
        strategy = get_strategy(settings.retrieval_strategy)
        if strategy.writes_contexts or asks_while_searching(settings):
            chunks = self.chunks(kb_id, settings.retrieval_chunk_chars, version)
            language = self.store.record(kb_id, version).language
            grow = (factory or self._factory).grow
            grown = last(grow(chunks, language, settings, progress, kb_id=kb_id, on_reply=on_reply))
            return self.limited(kb_id, grown, DocumentFilter.from_text(settings.kb_filter), version)
        # A knowledge base has its own language, whatever RETRIEVAL_BM25_LANGUAGE says.
        search = tuple((name, getattr(settings, name)) for name in OF_PIPELINE)
        found = self.pipeline(kb_id, progress, search, version).with_selection(settings)
        return self.limited(kb_id, found, DocumentFilter.from_text(settings.kb_filter), version)

    def growing(
        self, kb_id: str, progress: ProgressCallback = ignore_progress, search: OtherSearch = (), version: str = ""
    ) -> GrowingPipeline:
        """The pipeline over a knowledge base as far as it is built: questions need not wait for the vectors.

        If another provider is chosen while a language model writes for it, the work goes on with that one, and
        ``progress`` is told its name. Args and errors are those of ``pipeline``.
        """
        while True:
            try:
                return self._growing(kb_id, progress, search, version)
            except ProviderLeft as left:
                told = str(left.params["chosen"])

                def progress_of_other(state: Progress, before: ProgressCallback = progress, now: str = told) -> None:
                    before(replace(state, provider=state.provider or now))

                progress = progress_of_other

    def _growing(self, kb_id: str, progress: ProgressCallback, search: OtherSearch, version: str) -> GrowingPipeline:
        record, now = self.store.record(kb_id, version), self._live.snapshot
        with self._lock:
            if now.version != self._version:
                # Their indexes stay on disk. An answer that is being written keeps the pipeline that it has.
                self._pipelines.clear()
                self._version = now.version
        settings = with_search(now.settings, other_search(now.settings, search))

        factory = self._factory.asking(following(self._factory.providers, settings.chosen_provider))

        key = _key([record], now, search)

        def grow(report: ProgressCallback) -> Iterator[Pipeline]:
            chunks = self.chunks(kb_id, settings.retrieval_chunk_chars, record.version)
            other = self._pipelines.other_version(key)
            earlier = other.latest if other is not None else None
            levels = factory.grow(chunks, record.language, settings, report, kb_id=kb_id, earlier=earlier)
            with self._at_work(kb_id):
                for level in levels:
                    yield level
            self._keep_rows(kb_id, level)

        return self._pipelines.get(key, lambda: GrowingPipeline(kb_id, grow, progress))

    @contextmanager
    def _at_work(self, kb_id: str) -> Iterator[None]:
        """Count a pipeline over a knowledge base as being built."""
        with self._lock:
            self._built[kb_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._built[kb_id] -= 1

    def keep_only(self, kb_id: str, texts: Collection[str]) -> None:
        """Forget the pipelines over versions that nobody asks any more, and the rows of vectors that only they had.

        Args:
            texts: SHA-256 of the texts of the versions that can be asked.
        """
        self._pipelines.keep_only(kb_id, texts)
        self._drop_joined(kb_id)
        self._changed.add(kb_id)
        self._keep_rows(kb_id)

    def _keep_rows(self, kb_id: str, *new: Pipeline) -> None:
        """After a change, delete what no pipeline over a knowledge base needs, once none is being built.

        Args:
            new: pipelines that are complete and may not be among the kept ones yet.
        """
        kept = self._pipelines.of(kb_id)
        if kb_id not in self._changed or self._built[kb_id] or not all(one.is_complete for one in kept):
            return
        self._changed.discard(kb_id)
        indexes = {id(one.index): one.index for one in (*new, *(each.latest for each in kept))}
        try:
            if indexes:
                keep_rows(self._live.current, kb_id, list(indexes.values()))
                folders = [index.folder for index in indexes.values()]
                forget_other_indexes(self._live.current.cache_dir, kb_id, folders)
        except ChatbotError as error:  # they only take room; the next change tries again
            log.warning("rows of vectors of %s are left: %s", kb_id, error)

    def _drop_joined(self, kb_id: str) -> None:
        """Forget what was built over a knowledge base together with others, in memory and on disk."""
        self._pipelines.drop_joined(kb_id)
        for folder in (self._live.current.cache_dir / "indexes").glob(f"*{JOINED}*"):
            if folder.is_dir() and kb_id in folder.name.split(JOINED):
                shutil.rmtree(folder, ignore_errors=True)

    def limited(self, kb_id: str, pipeline: Pipeline, documents: DocumentFilter, version: str = "") -> Pipeline:
        """Return a pipeline over a version of a knowledge base, limited to the documents that meet a filter.

        Raises:
            KbNotFound, KbUnreadable
            FilterError (filter_matches_nothing): no document with text meets it.
        """
        return self.limited_over({kb_id: version}, pipeline, documents)

    def limited_over(self, versions: Mapping[str, str], pipeline: Pipeline, documents: DocumentFilter) -> Pipeline:
        """Return a pipeline over several knowledge bases, limited as by ``limited``.

        Args:
            versions: id of each knowledge base -> its version.
        """
        if not documents:
            return pipeline
        found = {kb_id: self.store.version(kb_id, version) for kb_id, version in versions.items()}
        spans = ((kb_id, *span) for kb_id, version in found.items() for span in documents.spans(version))
        limited = pipeline.within(tuple(spans))
        if limited is None:
            raise nothing_found(found, documents)
        return limited

    @performs(Action.ASK)
    def over(
        self, kb_ids: Sequence[str], progress: ProgressCallback = ignore_progress, search: OtherSearch = ()
    ) -> GrowingPipeline:
        """The pipeline over the current versions of several knowledge bases, as ``growing`` gives that of one.

        Their chunks are indexed together, so that a word is as rare as it is in all of them, and their evidence has
        one scale. A chunk's ``doc_id`` is the id of its knowledge base. Words are indexed anew, in memory; vectors
        come from the cache where one of the knowledge bases has been asked.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        if len(kb_ids) == 1:
            return self.growing(kb_ids[0], progress, search)
        records = [self.store.record(kb_id) for kb_id in sorted(set(kb_ids))]
        now = self._live.snapshot
        settings = with_search(now.settings, other_search(now.settings, search)).with_changes(vector_store="exact")
        language = max(records, key=lambda record: record.chars).language
        key = _key(records, now, search)
        name = key[0]
        factory = self._factory.asking(following(self._factory.providers, settings.chosen_provider))

        def grow(report: ProgressCallback) -> Iterator[Pipeline]:
            size = settings.retrieval_chunk_chars
            chunks = [chunk for one in records for chunk in self.chunks(one.kb_id, size, one.version)]
            return factory.grow(chunks, language, settings, report, kb_id=name)

        return self._pipelines.get(key, lambda: GrowingPipeline(name, grow, progress))

    @performs(Action.READ)
    def vectors_under_way(self, kb_ids: Sequence[str], search: OtherSearch = ()) -> GrowingPipeline | None:
        """The pipeline over knowledge bases if vectors are missing in it; None if not, or if nobody has asked yet.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        records = [self.store.record(kb_id) for kb_id in sorted(set(kb_ids))]
        found = self._pipelines.peek(_key(records, self._live.snapshot, search))
        return found if found is not None and (found.growing or found.failure is not None) else None

    def forget_text(self, kb_id: str) -> None:
        """Keep nothing of the text of a knowledge base in memory."""
        self._pipelines.drop(kb_id)
        super().forget_text(kb_id)


def _key(records: Sequence[KbRecord], now: Snapshot, search: OtherSearch) -> Key:
    name, texts = JOINED.join(record.kb_id for record in records), (record.sha256 for record in records)
    # The version is part of the key: a pipeline holds the language model of the provider it was built with.
    return (name, *texts, str(now.version), repr(other_search(now.settings, search)))
