"""One document of a knowledge base: the file as it was uploaded, its text, and its chunks."""

from __future__ import annotations

from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.naming import document_named
from chatbot_mvp.knowledge_base.versions import KbDocument
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.types import Chunk


class KbDocuments:
    """Reads single documents. Safe to share between sessions; holds nothing of one user.

    Every method takes a path and a version, "" for the current one, and raises ``KbNotFound``, ``KbUnreadable``, or
    ``KbChangeError`` (kb_version_not_found, kb_document_not_found).
    """

    def __init__(self, kbs: KnowledgeBases) -> None:
        self._kbs = kbs
        self._store = kbs.store

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
