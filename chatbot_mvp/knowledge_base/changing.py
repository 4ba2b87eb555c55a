"""Changes to knowledge bases: documents come, go, move and change, and versions are restored, staged and published.

The version before answers until the new one is ready. Changes that are made at once are both there, unless they
concern one document: then the second is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.changes import Change, Put, applied, merged
from chatbot_mvp.knowledge_base.differences import DocumentDifference, differences
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.memory import require_memory
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.versions import KEPT, Entry, KbDocument, NewDocument, Staged, Version
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import ProgressCallback, ignore_progress

References = Callable[[str], Iterable[str]]
"""Gives the hashes of the texts (``Version.sha256``) of a knowledge base that something refers to."""


@dataclass(frozen=True)
class Step:
    """A step in the history of a knowledge base."""

    entry: Entry
    current: bool
    kept: bool
    """Whether its version can still be read, compared and restored."""


class KbChanges:
    """Changes the knowledge bases of this data folder. Safe to share between sessions; holds nothing of one user.

    Methods that change something raise ``KbChangeError`` if the change cannot be made, ``KbNotWritten`` if the disk
    refuses, and what ``KnowledgeBases.growing`` raises; then the knowledge base is as it was before.
    """

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases) -> None:
        self._live = live
        self._kbs = kbs
        self._store = kbs.store
        self.references: list[References] = []
        """What refers to texts. Versions with these texts stay."""

    # --- change

    @performs(Action.CHANGE_KB)
    def change(
        self,
        kb_id: str,
        changes: Sequence[Change] = (),
        new: Sequence[NewDocument] = (),
        note: str = "",
        stage: bool = False,
        progress: ProgressCallback = ignore_progress,
        base: str = "",
    ) -> KbRecord:
        """Change the documents of a knowledge base, and return the record of its new version.

        Args:
            changes: what else changes, made before ``new`` comes.
            new: documents to add; each replaces the one under its path.
            note: what people shall read in the history.
            stage: let the new version wait as a draft. A draft that waits already gets the changes too.
            progress: called while the new version is indexed; may raise to stop.
            base: the version that the changes were thought of for; "" for the current one. What others have done since
                stays, and a change of the same document is refused. Does not count for a draft that waits already.
        """
        self._require_room(kb_id, new)
        put = [Put(document) for document in self._store.put(kb_id, new)] if new else []
        seen = self._store.version(kb_id, base)
        staged = self._store.staged(kb_id) if stage else None
        before = self._store.version(kb_id, staged.version_id) if staged else seen
        documents = applied(kb_id, before.documents, [*changes, *put])
        if documents == before.documents:
            return self._store.record(kb_id, before.version_id)
        if stage:
            version = self._draft(kb_id, documents, progress)
            self._store.stage(kb_id, version, staged.base if staged else seen.version_id)
            return self._store.record(kb_id, version.version_id)
        return self._put_in_place(kb_id, seen, documents, "changed", note, progress)

    @performs(Action.CHANGE_KB)
    def restore(
        self, kb_id: str, version: str, note: str = "", progress: ProgressCallback = ignore_progress
    ) -> KbRecord:
        """Give a knowledge base the documents of an earlier version again, as a new step; return its record."""
        base, wanted = self._store.version(kb_id), self._store.version(kb_id, version)
        return self._put_in_place(kb_id, base, wanted.documents, "restored", note, progress)

    @performs(Action.CHANGE_KB)
    def publish(self, kb_id: str, note: str = "", progress: ProgressCallback = ignore_progress) -> KbRecord:
        """Make the draft the current version, with what has changed since it was made; return its record."""
        staged = self._staged(kb_id)
        base, draft = self._store.version(kb_id, staged.base), self._store.version(kb_id, staged.version_id)
        record = self._put_in_place(kb_id, base, draft.documents, "published", note, progress)
        self._store.stage(kb_id, None)
        return record

    @performs(Action.CHANGE_KB)
    def drop(self, kb_id: str) -> None:
        """Drop the draft."""
        self._staged(kb_id)
        self._store.stage(kb_id, None)
        self.collect(kb_id)

    def collect(self, kb_id: str) -> None:
        """Delete the versions that nothing needs: all but the newest ``KEPT`` and those that something refers to."""
        named = {sha256 for references in self.references for sha256 in references(kb_id)}
        self._store.collect(kb_id, lambda version: version.sha256 in named, KEPT)

    # --- read

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

    # --- parts

    def _put_in_place(
        self,
        kb_id: str,
        base: Version,
        documents: tuple[KbDocument, ...],
        what: str,
        note: str,
        progress: ProgressCallback,
    ) -> KbRecord:
        """Make a version of these documents the current one, with what others have changed in ``base`` meanwhile."""
        while True:
            now = self._store.version(kb_id)
            wanted = documents
            if now.version_id != base.version_id:
                wanted = merged(kb_id, base.documents, documents, now.documents)
                if wanted == now.documents:
                    return self._store.record(kb_id)
            version = self._draft(kb_id, wanted, progress)
            if record := self._store.publish(kb_id, version, now.version_id, what, note):
                self.collect(kb_id)
                return record

    def _draft(self, kb_id: str, documents: Sequence[KbDocument], progress: ProgressCallback) -> Version:
        """Write a version and index its words, so that it can be asked as soon as it is the current one."""
        limit = self._live.current.kb_max_chars
        require_memory(min(limit, sum(document.original_chars for document in documents)))
        version = self._store.draft(kb_id, documents, limit)
        self._kbs.growing(kb_id, progress, version=version.version_id)
        return version

    def _staged(self, kb_id: str) -> Staged:
        if (staged := self._store.staged(kb_id)) is None:
            raise KbChangeError("kb_nothing_staged", kb_id=kb_id)
        return staged

    def _require_room(self, kb_id: str, new: Sequence[NewDocument]) -> None:
        needed = self._store.bytes_of(kb_id) + sum(len(one.original or b"") + len(one.parsed.text) for one in new)
        limit_mb = self._live.current.kb_quota_mb
        if new and needed > limit_mb * 1_000_000:
            raise KbChangeError("kb_quota_exceeded", kb_id=kb_id, needed_mb=round(needed / 1e6, 1), limit_mb=limit_mb)
