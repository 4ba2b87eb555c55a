"""Read the history of knowledge bases: their steps, drafts, documents, and what changed between two versions."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.knowledge_base.differences import DocumentDifference, differences
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import Entry, KbDocument, Staged
from chatbot_mvp.settings.access import Action, performs


@dataclass(frozen=True)
class Step:
    """A step in the history of a knowledge base."""

    entry: Entry
    current: bool
    kept: bool
    """Whether its version can still be read, compared and restored."""


class KbHistory:
    """What ``KbChanges`` reads. Safe to share between sessions."""

    def __init__(self, store: KbStore) -> None:
        self._store = store

    @performs(Action.READ)
    def history(self, kb_id: str) -> list[Step]:
        """Return the steps of a knowledge base, the newest first."""
        entries, kept = self._store.history(kb_id), set(self._store.versions_kept(kb_id))
        return [Step(one, one is entries[-1], one.version_id in kept) for one in reversed(entries)]

    @performs(Action.READ)
    def staged(self, kb_id: str) -> Staged | None:
        """Return the draft of a knowledge base; None if there is none."""
        return self._store.staged(kb_id)

    @performs(Action.READ)
    def documents(self, kb_id: str, version: str = "") -> tuple[KbDocument, ...]:
        """Return the documents of a version, in the order of its text."""
        return self._store.documents(kb_id, version)

    @performs(Action.READ)
    def difference(self, kb_id: str, before: str, after: str = "") -> list[DocumentDifference]:
        """Return what changed from one version to another, by document and paragraph."""
        old, now = (self._store.version(kb_id, name) for name in (before, after))
        return differences(old.documents, now.documents, lambda document: self._store.text_of(kb_id, document))
