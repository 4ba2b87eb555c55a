"""What the texts of knowledge bases are made of: chunks, files and places, and what can be asked about them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from chatbot_mvp.documents.kb_files import FilePlace, KbFile, place_of, text_hash
from chatbot_mvp.errors import (
    KbChangeError,
    KbNotFound,
    KbUnreadable,
)
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter
from chatbot_mvp.knowledge_base.places import Places, Whereabouts, places_of_version, whereabouts
from chatbot_mvp.knowledge_base.record import KbContents, KbRecord, contents_of
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Chunk, Document

_CONTENTS_KEPT = 2


class KbTexts:
    """Reads the texts of knowledge bases. Safe to share between sessions.

    Unless it says otherwise, a method that takes an id raises ``KbNotFound`` if there is no such knowledge base, and
    ``KbUnreadable`` if what it reads of it is damaged. A version is named by its number or its id; "" is the current
    one.
    """

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self.store = KbStore(live.current.kb_dir)
        """The files on disk."""
        # Pages read the contents with every interaction, and cutting a large text into chunks takes a second.
        self._contents: BoundedCache[tuple[str, str, int], KbContents] = BoundedCache(_CONTENTS_KEPT)
        self._whereabouts: BoundedCache[tuple[str, str, str, str], Whereabouts] = BoundedCache(5_000)
        self._suggested: BoundedCache[tuple[tuple[str, ...], Hashable], tuple[str, ...]] = BoundedCache(1_000)

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
    def lost(self, kb_id: str) -> list[str]:
        """Paths of the documents that answers leave out because their texts cannot be read."""
        try:
            return self.store.lost(kb_id)
        except (KbNotFound, KbUnreadable):
            return []

    def left_out(self, kb_ids: Iterable[str]) -> dict[str, list[str]]:
        """Of some knowledge bases, those that ``lost`` documents: id -> their paths. Replies name them."""
        return {kb_id: lost for kb_id in kb_ids if (lost := self.lost(kb_id))}

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

        def made() -> tuple[str, ...]:
            return suggest_questions(self.store.document(kb_id), record.language, limit, record.languages)

        return self.kept_questions([kb_id], (record.sha256, limit), made)

    def kept_questions(
        self, kb_ids: Sequence[str], key: Hashable, make: Callable[[], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return questions about knowledge bases that are made once for a key, and forgotten with the text of one."""
        return self._suggested.get_or_build((tuple(kb_ids), key), make)

    def _suggested_within(self, record: KbRecord, limit: int, documents: DocumentFilter) -> tuple[str, ...]:
        whole = self.store.document(record.kb_id, record.version)
        found: dict[str, None] = {}
        for start, end in documents.spans(self.store.version(record.kb_id, record.version)):
            if len(found) < limit:
                part = replace(whole, text=whole.text[start:end])
                found |= dict.fromkeys(suggest_questions(part, record.language, limit, record.languages))
        return tuple(found)[:limit]

    def forget_text(self, kb_id: str) -> None:
        """Keep nothing of the text of a knowledge base in memory."""
        self._contents.drop(lambda key: key[0] == kb_id)
        self._whereabouts.drop(lambda key: key[0] == kb_id)
        self._suggested.drop(lambda key: kb_id in key[0])
