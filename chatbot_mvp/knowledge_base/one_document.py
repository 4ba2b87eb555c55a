"""One document of a knowledge base: the file as it was uploaded, its pages, text, chunks and passages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Semaphore

from chatbot_mvp.documents.kb_files import offset_in_file
from chatbot_mvp.documents.page_pictures import SECONDS, Box, DrawnPage, draw_page, drawn_page
from chatbot_mvp.errors import KbChangeError, KbUnreadable
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.naming import document_named
from chatbot_mvp.knowledge_base.versions import KbDocument
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.types import Chunk

_DRAWN_AT_ONCE = 2


@dataclass(frozen=True)
class Passage:
    """Some characters of a document."""

    start: int
    """Offset in the text of the document, in characters."""
    end: int
    pages: tuple[int, ...] = ()
    """The pages that it stands on, numbered from 1; none for formats without pages."""
    text: str = ""
    """What it says in the text of its version."""


@dataclass(frozen=True)
class PagePicture:
    """A page as it was drawn."""

    png: bytes
    size: tuple[int, int]
    """Width and height in pixels."""
    marks: tuple[Box, ...] = ()
    """Where the passages stand; none if none of them is found on the page."""


class KbDocuments:
    """Reads single documents. Safe to share between sessions; holds nothing of one user.

    Every method takes a path and a version, "" for the current one, and raises ``KbNotFound``, ``KbUnreadable``, or
    ``KbChangeError`` (kb_version_not_found, kb_document_not_found).
    """

    def __init__(self, kbs: KnowledgeBases) -> None:
        self._kbs = kbs
        self._store = kbs.store
        self._drawing = Semaphore(_DRAWN_AT_ONCE)

    @performs(Action.READ)
    def find(self, kb_id: str, path: str, version: str = "") -> KbDocument:
        """Return what is known of a document."""
        return document_named(kb_id, self._store.documents(kb_id, version), path)

    @performs(Action.READ)
    def text(self, kb_id: str, path: str, version: str = "") -> str:
        """Return its text as it was parsed."""
        return self._store.text_of(kb_id, self.find(kb_id, path, version))

    @performs(Action.READ)
    def original(self, kb_id: str, path: str, version: str = "") -> bytes:
        """Return the file as it was uploaded; b"" if it is not kept."""
        return self._store.original(kb_id, self.find(kb_id, path, version)) or b""

    @performs(Action.READ)
    def chunks(self, kb_id: str, path: str, version: str = "") -> list[Chunk]:
        """Return its chunks in the order of the text; none if there was no room for it."""
        found = self.find(kb_id, path, version)
        place = next((file for file in self._store.files(kb_id, version) if file.name == found.path), None)
        if place is None:
            return []
        return [one for one in self._kbs.chunks(kb_id, version=version) if place.start <= one.start < place.end]

    @performs(Action.READ)
    def passage(self, kb_id: str, path: str, version: str, start: int, end: int) -> Passage:
        """Return where characters of the text of a version, as sources name them, are in the text of their document.

        What is outside of the document is left out.

        Raises:
            KbChangeError (kb_passage_not_found): none of them is in this document.
        """
        document, files = self.find(kb_id, path, version), self._store.files(kb_id, version)
        file = next((one for one in files if one.name == path), None)
        first, last = (max(start, file.start), min(end, file.end)) if file else (0, 0)
        if file is None or first >= last:
            legal = f"{file.start} to {file.end}" if file else "-"
            raise KbChangeError("kb_passage_not_found", path=path, version=version, start=start, end=end, legal=legal)
        text = self._store.text_of(kb_id, document)
        begin, stop = (offset_in_file(text, files, file, one) for one in (first, last))
        starts = document.page_starts
        pages = range(max(1, bisect_right(starts, begin)), bisect_right(starts, stop - 1) + 1) if starts else ()
        return Passage(begin, stop, tuple(pages), self._store.document(kb_id, version).text[first:last])

    @performs(Action.READ)
    def picture(
        self, kb_id: str, path: str, page: int, version: str = "", passages: Sequence[Passage] = ()
    ) -> PagePicture:
        """Return a page of a PDF as a picture, with the places of passages. One that was drawn lately comes at once.

        Args:
            page: its number from 1.

        Raises:
            KbChangeError: kb_page_not_found, kb_original_not_kept, kb_page_not_drawn.
        """
        document = self.find(kb_id, path, version)
        count = len(document.page_starts)
        if not 1 <= page <= count:
            legal = f"1 to {count}" if count else "-"
            raise KbChangeError("kb_page_not_found", path=path, page=page, legal=legal)
        text = self._store.text_of(kb_id, document)
        begin, end = (*document.page_starts, len(text))[page - 1 : page + 1]
        drawn = self._drawn(kb_id, document, page)
        marks: list[Box] = []
        for one in passages:
            start, stop = max(begin, one.start), min(end, one.end)
            if start < stop:
                marks += drawn.find(text[start:stop], (start - begin) / (end - begin))
        return PagePicture(drawn.png, drawn.size, tuple(marks))

    def _drawn(self, kb_id: str, document: KbDocument, page: int) -> DrawnPage:
        name, pictures = f"{document.original}-{page}.json", self._kbs.pictures
        failed = KbChangeError("kb_page_not_drawn", path=document.path, page=page, seconds=SECONDS)
        if document.original and (kept := pictures.get(name)):
            with suppress(ValueError):
                return drawn_page(kept)
        with self._drawing:
            content = self._store.original(kb_id, document)
            if content is None:
                raise KbChangeError("kb_original_not_kept", kb_id=kb_id, path=document.path)
            made = draw_page(document.path, content, page)
        if made is None:
            raise failed
        try:
            found = drawn_page(made)
        except ValueError as error:
            raise failed from error
        pictures.put(name, made)
        pictures.prune()
        # Somebody may have purged the document meanwhile.
        try:
            self._store.original(kb_id, document)
        except KbUnreadable:
            pictures.drop([name])
            raise
        return found
