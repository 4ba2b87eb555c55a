"""Knowledge bases: kept, read, renamed and deleted, and the pipeline that answers from each."""

from __future__ import annotations

import logging
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from chatbot_mvp.documents.kb_files import FilePlace, KbFile, place_of, text_hash
from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.documents.origins import DOCUMENT_SOURCES, documents_of, source_of
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import (
    ChatbotError,
    ConfigurationError,
    KbChangeError,
    KbNotFound,
    KbUnreadable,
    ProviderLeft,
    UploadError,
)
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter, nothing_found
from chatbot_mvp.knowledge_base.parsed_files import ParsedFiles
from chatbot_mvp.knowledge_base.pipelines import JOINED, GrowingPipeline, Key, PipelinePool
from chatbot_mvp.knowledge_base.places import Places, Whereabouts, places_of_version, whereabouts
from chatbot_mvp.knowledge_base.record import KbContents, KbRecord, contents_of
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.llm.base import Completion, ignore_reply
from chatbot_mvp.llm.providers import following
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.indexes.chroma import chroma_client, delete_collections
from chatbot_mvp.retrieval.indexes.corpus import forget_index
from chatbot_mvp.retrieval.indexes.engines import indexes_of
from chatbot_mvp.retrieval.indexes.keeping import keep_rows
from chatbot_mvp.retrieval.indexes.versions import forget_other_indexes
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.search import OF_PIPELINE, OtherSearch, other_search, with_search
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings, Snapshot
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Chunk, Document, Progress, ProgressCallback, ignore_progress, last

log = logging.getLogger(__name__)

_CHARS_KEPT = 6_000_000
"""Characters of the knowledge bases whose indexes stay in memory, each million in ``memory.MB_PER_MILLION``."""
_CONTENTS_KEPT = 2


class KnowledgeBases:
    """The knowledge bases of this data folder. Safe to share between sessions; holds nothing of one user.

    Unless it says otherwise, a method that takes an id raises ``KbNotFound`` if there is no such knowledge base, and
    ``KbUnreadable`` if what it reads of it is damaged. A version is named by its number or its id; "" is the current
    one.
    """

    def __init__(self, live: LiveSettings, factory: PipelineFactory, embedders: Embedders) -> None:
        self._live = live
        self._factory = factory
        self._embedders = embedders
        self.store = KbStore(live.current.kb_dir)
        """The files on disk."""
        self.parsed = ParsedFiles(live.current.cache_dir / "parsed")
        """Texts of files whose upload has not finished."""
        self._pipelines = PipelinePool(_CHARS_KEPT)
        # Pages read the contents with every interaction, and cutting a large text into chunks takes a second.
        self._contents: BoundedCache[tuple[str, str, int], KbContents] = BoundedCache(_CONTENTS_KEPT)
        self._whereabouts: BoundedCache[tuple[str, str, str, str], Whereabouts] = BoundedCache(5_000)
        self._suggested: dict[tuple[str, str, int], tuple[str, ...]] = {}
        self._lock = threading.Lock()
        self._built: Counter[str] = Counter()
        """Id -> number of pipelines that are being built over it."""
        self._changed: set[str] = set()
        """Ids of those where files and rows of other versions may be left."""
        self._version = live.snapshot.version

    # --- keep, rename, delete

    def add(self, name: str, content: bytes) -> KbRecord:
        """Keep an uploaded file as a knowledge base.

        Args:
            name: the file's name; its suffix tells the format.

        Raises:
            UploadError: the file cannot be used; nothing else changes.
        """
        return self.store.add(name, content, *self.limits)

    def add_from(self, reference: str, progress: ProgressCallback = ignore_progress) -> KbRecord:
        """Keep what a reference names as one knowledge base: a file, or the documents of a source, as "NAME:REST".

        Raises:
            UploadError: there is no such source, it gives nothing, or a document cannot be used; nothing else changes.
        """
        named = source_of(reference)
        if named is None:
            legal = ", ".join(f"{name}:" for name in DOCUMENT_SOURCES)
            reason = f"it is neither a file nor the name of a source; sources: {legal}"
            raise UploadError(
                "document_source_failed", source=reference.partition(":")[0], found=reference, reason=reason
            )
        files, limits = documents_of(*named, self._live.current, progress), self.limits
        parsed = [
            NewDocument(clean_path(name), parse_upload(name, content, *limits), content) for name, content in files
        ]
        return self.store.keep(parsed, limits[0])

    @property
    def limits(self) -> tuple[int, int, int]:
        """KB_MAX_CHARS, KB_MAX_UPLOAD_MB and KB_MAX_PAGES."""
        settings = self._live.current
        return settings.kb_max_chars, settings.kb_max_upload_mb, settings.kb_max_pages

    @performs(Action.UPLOAD)
    def add_sample(self) -> KbRecord:
        """Keep the sample document that comes with the project."""
        path = next((self._live.current.samples_dir / "kb").glob("*.md"))
        return self.add(path.name, path.read_bytes())

    @performs(Action.CHANGE_KB)
    def rename(self, kb_id: str, kb_name: str) -> None:
        """Give a knowledge base another name; a blank name changes nothing."""
        if name := clean_name(kb_name):
            self.store.rename(kb_id, name)

    @performs(Action.CHANGE_KB)
    def delete(self, kb_id: str, keep_parsed: bool = False) -> None:
        """Delete a knowledge base, everything that was built over it, and what unfinished uploads have read.

        Args:
            keep_parsed: keep the texts of unfinished uploads, because one of them is to be continued.

        Raises:
            KbNotFound
            ConfigurationError: ChromaDB or the engine of INDEX_ENGINE cannot be used; the texts were not deleted.
        """
        self.store.record(kb_id)
        if not keep_parsed:
            # An upload that ended early may have left texts of the same files.
            self.parsed.clear()
        self._contents.drop(lambda key: key[0] == kb_id)
        try:
            self.forget_index(kb_id)
        except KbUnreadable:
            self._drop_vectors(kb_id)  # without its text, only what bears its name can be found
        self.store.delete(kb_id)

    # --- read

    @performs(Action.READ)
    def records(self) -> list[KbRecord]:
        """The stored knowledge bases, the newest first."""
        return self.store.records()

    def document(self, kb_id: str, version: str = "") -> Document:
        """The text that the offsets of sources refer to."""
        return self.store.document(kb_id, version)

    def chunks(self, kb_id: str, chars: int | None = None, version: str = "") -> Sequence[Chunk]:
        """The chunks that are searched, in the order of the text.

        Args:
            chars: RETRIEVAL_CHUNK_CHARS of a search; None for the settings in effect.
        """
        return self.store.chunks(kb_id, chars or self._live.current.retrieval_chunk_chars, version)

    @performs(Action.READ)
    def contents(self, kb_id: str, chars: int | None = None, version: str = "") -> KbContents:
        """The files, the chunks, and the chunks whose text repeats.

        Args:
            chars: as in ``chunks``.
        """
        record, size = self.store.record(kb_id, version), chars or self._live.current.retrieval_chunk_chars

        def made() -> KbContents:
            return contents_of(self.store.files(kb_id, record.version), self.chunks(kb_id, size, record.version))

        # By the version and not by its text: one text may be that of documents with other paths.
        return self._contents.get_or_build((kb_id, record.version, size), made)

    @performs(Action.READ)
    def place(self, kb_id: str, offset: int) -> FilePlace | None:
        """The file and page that the character at ``offset`` comes from; None if the knowledge base is gone."""
        return place_of(self.files(kb_id), offset)

    def places(self, kb_id: str, version: str = "") -> Places:
        """Where the documents of a version are in its text; no place if it is gone or unreadable."""
        try:
            found = self.store.version(kb_id, version)
            return places_of_version(found, self.store.record(kb_id, found.version_id).number)
        except (KbNotFound, KbUnreadable, KbChangeError):
            return Places()

    def whereabouts(self, kb_id: str, passage: str, path: str = "", version: str = "") -> Whereabouts | None:
        """Where a passage of an earlier version stands in the current one; None if the knowledge base is unreadable.

        Args:
            passage: some words, sentences or paragraphs, verbatim.
            path: the document that it stood in; "" if it is not known.
            version: id of the version that it is of; "" if it is not known.
        """
        try:
            record = self.store.record(kb_id)
            if version == record.version:
                path = ""  # it stands where it stood, whatever the name of its file in an older record
            key = (kb_id, record.version, text_hash(passage), path)
            return self._whereabouts.get_or_build(
                key, lambda: whereabouts(self.store.document(kb_id).text, self.places(kb_id), passage, path)
            )
        except (KbNotFound, KbUnreadable, KbChangeError):
            return None

    def files(self, kb_id: str, version: str = "") -> tuple[KbFile, ...]:
        """The files of a knowledge base, in the order of its text; none if it is gone or their list is unreadable."""
        try:
            return self.store.files(kb_id, version)
        except (KbNotFound, KbUnreadable, KbChangeError):
            return ()

    @performs(Action.READ)
    def suggested_questions(
        self, kb_id: str, limit: int = 4, documents: DocumentFilter = ALL_DOCUMENTS
    ) -> tuple[str, ...]:
        """Up to ``limit`` questions that the knowledge base should answer, made from its headings and definitions.

        Args:
            documents: only these are asked about; each is asked about apart.
        """
        record = self.store.record(kb_id)
        if documents:
            return self._suggested_within(record, limit, documents)
        key = (kb_id, record.sha256, limit)
        if key not in self._suggested:
            text = self.store.document(kb_id)
            self._suggested[key] = suggest_questions(text, record.language, limit, record.languages)
        return self._suggested[key]

    def _suggested_within(self, record: KbRecord, limit: int, documents: DocumentFilter) -> tuple[str, ...]:
        whole = self.store.document(record.kb_id, record.version)
        found: dict[str, None] = {}
        for start, end in documents.spans(self.store.version(record.kb_id, record.version)):
            if len(found) < limit:
                part = replace(whole, text=whole.text[start:end])
                found |= dict.fromkeys(suggest_questions(part, record.language, limit, record.languages))
        return tuple(found)[:limit]

    # --- the pipeline

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
        if strategy.needs_language_model or settings.query_expansion_llm or settings.reranker_enabled:
            chunks = self.chunks(kb_id, settings.retrieval_chunk_chars, version)
            language = self.store.record(kb_id, version).language
            grow = (factory or self._factory).grow
            grown = last(grow(chunks, language, settings, progress, kb_id=kb_id, on_reply=on_reply))
            return self.limited(kb_id, grown, DocumentFilter.from_text(settings.kb_filter), version)
        # A knowledge base has its own language, whatever RETRIEVAL_BM25_LANGUAGE says.
        search = tuple((name, getattr(settings, name)) for name in OF_PIPELINE)
        found = self.pipeline(kb_id, progress, search, version).with_selection(settings)
        return self.limited(kb_id, found, DocumentFilter.from_text(settings.kb_filter), version)

    @performs(Action.ASK)
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

        key = _key(record, now, search)

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

    def _drop_joined(self, kb_id: str) -> None:
        """Forget what was built over a knowledge base together with others, in memory and on disk."""
        self._pipelines.drop_joined(kb_id)
        for folder in (self._live.current.cache_dir / "indexes").glob(f"*{JOINED}*"):
            if folder.is_dir() and kb_id in folder.name.split(JOINED):
                shutil.rmtree(folder, ignore_errors=True)

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
        name = JOINED.join(record.kb_id for record in records)
        key = (name, *(record.sha256 for record in records), str(now.version), repr(other_search(now.settings, search)))
        factory = self._factory.asking(following(self._factory.providers, settings.chosen_provider))

        def grow(report: ProgressCallback) -> Iterator[Pipeline]:
            size = settings.retrieval_chunk_chars
            chunks = [chunk for one in records for chunk in self.chunks(one.kb_id, size, one.version)]
            return factory.grow(chunks, language, settings, report, kb_id=name)

        return self._pipelines.get(key, lambda: GrowingPipeline(name, grow, progress))

    @performs(Action.READ)
    def vectors_under_way(self, kb_id: str, search: OtherSearch = ()) -> GrowingPipeline | None:
        """The pipeline over a knowledge base if vectors are missing in it; None if not, or if nobody has asked yet.

        Raises:
            KbNotFound, KbUnreadable, InvalidSetting
        """
        found = self._pipelines.peek(_key(self.store.record(kb_id), self._live.snapshot, search))
        return found if found is not None and (found.growing or found.failure is not None) else None

    def forget_text(self, kb_id: str) -> None:
        """Keep nothing of the text of a knowledge base in memory."""
        self._pipelines.drop(kb_id)
        self._contents.drop(lambda key: key[0] == kb_id)
        self._whereabouts.drop(lambda key: key[0] == kb_id)
        self._suggested = {key: found for key, found in self._suggested.items() if key[0] != kb_id}

    def forget_index(self, kb_id: str, version: str = "") -> None:
        """Delete what was built over a knowledge base, in memory and on disk; the next question builds it again.

        Args:
            version: whose texts' vectors go.

        Raises:
            KbNotFound, KbUnreadable
            ConfigurationError: ChromaDB or the engine of INDEX_ENGINE cannot be used.
        """
        settings = self._live.current
        chunks, record = self.chunks(kb_id, version=version), self.store.record(kb_id, version)
        self._drop_vectors(kb_id)
        embedder: Embedder | None = None
        if get_strategy(settings.retrieval_strategy).needs_vectors:
            # A model that cannot be loaded leaves vectors in the cache, under keys that tell nothing of their texts.
            with suppress(ConfigurationError):
                embedder = self._embedders.of(settings)
        forget_index(chunks, record.language, settings.cache_dir, embedder, kb_id)

    def _drop_vectors(self, kb_id: str) -> None:
        settings = self._live.current
        if settings.chroma_host or settings.chroma_dir.is_dir():
            delete_collections(chroma_client(settings.chroma_dir, settings.chroma_host), kb_id)
        indexes_of(settings).delete(kb_id)
        self._drop_joined(kb_id)
        # The same document added again is the same KB: it must not meet a pipeline whose vectors are gone.
        self._pipelines.drop(kb_id)


def _key(record: KbRecord, now: Snapshot, search: OtherSearch) -> Key:
    # The version is part of the key: a pipeline holds the language model of the provider it was built with.
    return (record.kb_id, record.sha256, str(now.version), repr(other_search(now.settings, search)))
