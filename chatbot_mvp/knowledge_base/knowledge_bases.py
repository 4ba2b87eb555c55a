"""Knowledge bases: made, listed, renamed and deleted, besides what is read of them and the pipelines over them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress

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
    UploadError,
)
from chatbot_mvp.knowledge_base.kb_pipelines import KbPipelines
from chatbot_mvp.knowledge_base.naming import kb_named
from chatbot_mvp.knowledge_base.parsed_files import ParsedFiles
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.indexes.chroma import chroma_client, delete_collections
from chatbot_mvp.retrieval.indexes.corpus import forget_index
from chatbot_mvp.retrieval.indexes.engines import indexes_of
from chatbot_mvp.retrieval.indexes.versions import forget_other_indexes
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.aside import forget_old
from chatbot_mvp.storage.bounded_folder import BoundedFolder
from chatbot_mvp.storage.filled_memory import fill_memory
from chatbot_mvp.types import ProgressCallback, ignore_progress

_PICTURES_HOURS, _PICTURES_BYTES = 24, 200_000_000


class KnowledgeBases(KbPipelines):
    """The knowledge bases of this data folder. Safe to share between sessions; holds nothing of one user.

    Unless it says otherwise, a method that takes an id raises ``KbNotFound`` if there is no such knowledge base, and
    ``KbUnreadable`` if what it reads of it is damaged. A version is named by its number or its id; "" is the current
    one.
    """

    def __init__(self, live: LiveSettings, factory: PipelineFactory, embedders: Embedders) -> None:
        super().__init__(live, factory)
        fill_memory()  # before any text is read
        self._embedders = embedders
        self.parsed = ParsedFiles(live.current.cache_dir / "parsed")
        """Texts of files whose upload has not finished."""
        self.pictures = BoundedFolder(live.current.cache_dir / "pages", _PICTURES_HOURS, _PICTURES_BYTES)
        """Pages of originals as they were drawn, by content and page."""
        self._forget_deleted()

    def add(self, name: str, content: bytes) -> KbRecord:
        """Keep an uploaded file as a knowledge base.

        Args:
            name: the file's name; its suffix tells the format.

        Raises:
            UploadError: the file cannot be used; nothing else changes.
            KbChangeError (kb_quota_exceeded)
        """
        self.require_room(name, (), len(content))
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
        self.require_room(reference, parsed)
        return self.store.keep(parsed, limits[0])

    def require_room(self, name: str, new: Sequence[NewDocument], used: int = 0) -> None:
        """Check that documents fit into a knowledge base that takes ``used`` bytes already.

        Raises:
            KbChangeError (kb_quota_exceeded)
        """
        needed = used + sum(len(one.original or b"") + len(one.parsed.text) for one in new)
        limit_mb = self._live.current.kb_quota_mb
        if needed > limit_mb * 1_000_000:
            raise KbChangeError("kb_quota_exceeded", kb_id=name, needed_mb=round(needed / 1e6, 1), limit_mb=limit_mb)

    def make(
        self,
        files: Sequence[NewDocument],
        kb_name: str,
        kept: Callable[[KbRecord, bool], None],
        progress: ProgressCallback = ignore_progress,
    ) -> KbRecord:
        """Keep parsed files as one knowledge base and index their words, so that it can be asked; return its record.

        Its vectors are computed in a thread of its own. After a stop, a full disk or a failed index, everything is as
        it was before.

        Args:
            kb_name: as for ``KbStore.keeping``, like errors.
            kept: called before it is indexed, with whether it is new; may raise to stop.
        """
        self.require_room(kb_name or files[0].path, files)
        known = {record.kb_id for record in self.records()}
        with self.store.keeping(files, self.limits[0], kb_name, unique=True) as record:
            kept(record, record.kb_id not in known)
            try:
                self.growing(record.kb_id, progress)
            except BaseException:
                if record.kb_id not in known:
                    with suppress(ChatbotError):
                        self.forget_index(record.kb_id)
                raise
        return record

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

    @performs(Action.READ)
    def is_sample(self, record: KbRecord) -> bool:
        """Return whether a knowledge base has the name of the sample."""
        return any(path.name == record.kb_name for path in (self._live.current.samples_dir / "kb").glob("*.md"))

    @performs(Action.READ)
    def records(self) -> list[KbRecord]:
        """The stored knowledge bases, the newest first."""
        return self.store.records()

    @performs(Action.READ)
    def unreadable(self) -> dict[str, ChatbotError]:
        """Why others are left out of them: id -> error."""
        return self.store.unreadable()

    def named(self, reference: str) -> KbRecord:
        """The stored knowledge base with this id or name.

        Raises:
            KbNotFound, KbChangeError (kb_name_ambiguous)
            KbUnreadable: it is the id of one that is damaged, whose name nobody knows.
        """
        try:
            return kb_named(self.store.records(), reference)
        except KbNotFound:
            with suppress(KbNotFound):
                return self.store.record(reference)
            raise

    @performs(Action.CHANGE_KB)
    def rename(self, kb_id: str, kb_name: str) -> KbRecord:
        """Give a knowledge base another name and return its record; a blank name changes nothing.

        Raises:
            KbChangeError (kb_name_taken): another knowledge base has it.
        """
        name = clean_name(kb_name)
        return self.store.rename(kb_id, name) if name else self.store.record(kb_id)

    @performs(Action.CHANGE_KB)
    def delete(self, kb_id: str, keep_parsed: bool = False, undoable: bool = False) -> None:
        """Delete a knowledge base, everything that was built over it, and what unfinished uploads have read.

        Args:
            keep_parsed: keep the texts of unfinished uploads, because one of them is to be continued.
            undoable: keep its folder for a day, in which ``undelete`` brings it back.

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
        self.store.delete(kb_id, self._live.current.kb_deleted_dir if undoable else None)
        if not undoable:
            shutil.rmtree(self._live.current.deleted_sets_dir / kb_id, ignore_errors=True)
        self.pictures.clear()  # after the originals, of which no more are drawn then

    @performs(Action.READ)
    def deleted(self) -> list[KbRecord]:
        """The knowledge bases whose deletion can be undone, the newest first."""
        self._forget_deleted()
        return KbStore(self._live.current.kb_deleted_dir).records()

    def _forget_deleted(self) -> None:
        folder = self._live.current.kb_deleted_dir
        forget_old((*folder.glob("[!.]*"), *folder.glob(".*/**/*.json*")))

    @performs(Action.CHANGE_KB)
    def undelete(self, kb_id: str) -> KbRecord:
        """Bring back a knowledge base whose deletion can be undone. Its index is built by the next question.

        Raises:
            KbNotFound: it cannot.
            KbChangeError (kb_name_taken): what it holds was added again meanwhile.
        """
        return self.store.take_back(kb_id, self._live.current.kb_deleted_dir)

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

    def forget_indexes(self, kb_id: str) -> None:
        """Delete the files of all indexes of a knowledge base, also of versions that cannot be read."""
        self._pipelines.drop(kb_id)
        forget_other_indexes(self._live.current.cache_dir, kb_id, [])

    def _drop_vectors(self, kb_id: str) -> None:
        settings = self._live.current
        if settings.chroma_host or settings.chroma_dir.is_dir():
            delete_collections(chroma_client(settings.chroma_dir, settings.chroma_host), kb_id)
        indexes_of(settings).delete(kb_id)
        self._drop_joined(kb_id)
        # The same document added again is the same KB: it must not meet a pipeline whose vectors are gone.
        self._pipelines.drop(kb_id)
