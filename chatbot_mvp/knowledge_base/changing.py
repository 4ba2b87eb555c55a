"""Changes to knowledge bases: documents come, go, move and change, and versions are restored, staged and published.

The version before answers until the new one is ready. Changes that are made at once are both there, unless they
concern one document: then the second is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from chatbot_mvp.errors import ChatbotError, KbChangeError, KbPurgeUnfinished
from chatbot_mvp.knowledge_base.changes import Change, Put, Remove, applied, merged
from chatbot_mvp.knowledge_base.differences import DocumentDifference, differences
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.memory import require_memory
from chatbot_mvp.knowledge_base.purging import Eraser, PurgeReport, Purges
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.versioning import documents_of
from chatbot_mvp.knowledge_base.versions import Entry, KbDocument, NewDocument, Staged, Version
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import ProgressCallback, ignore_progress

_log = logging.getLogger(__name__)

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
        self.erasers: list[Eraser] = []
        """What takes the text of purged documents out of other files."""
        self._purges = Purges(kbs, self.erasers, (live.current.cache_dir, live.current.chroma_dir))

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
        self._finish_purge(kb_id)
        self._require_room(kb_id, new)
        self._store.upgrade(kb_id)
        put = [Put(document, one.about) for document, one in zip(documents_of(new), new, strict=True)]
        before, staged = self._store.to_change(kb_id, stage, base)
        documents = applied(kb_id, before.documents, [*changes, *put])
        if documents == before.documents:
            return self._store.record(kb_id, before.version_id)
        if stage:
            return self._put_in_draft(kb_id, staged, before, documents, progress, new)
        return self._put_in_place(kb_id, before, documents, "changed", note, progress, new)

    @performs(Action.CHANGE_KB)
    def restore(
        self, kb_id: str, version: str, note: str = "", progress: ProgressCallback = ignore_progress
    ) -> KbRecord:
        """Give a knowledge base the documents of an earlier version again, as a new step; return its record."""
        self._finish_purge(kb_id)
        base, wanted = self._store.version(kb_id), self._store.version(kb_id, version)
        return self._put_in_place(kb_id, base, wanted.documents, "restored", note, progress)

    @performs(Action.CHANGE_KB)
    def publish(self, kb_id: str, note: str = "", progress: ProgressCallback = ignore_progress) -> KbRecord:
        """Make the draft the current version, with what has changed since it was made; return its record."""
        self._finish_purge(kb_id)
        staged = self._staged(kb_id)
        base, draft = self._store.version(kb_id, staged.base), self._store.version(kb_id, staged.version_id)
        record = self._put_in_place(kb_id, base, draft.documents, "published", note, progress)
        self._store.stage(kb_id, None, before=staged.version_id)  # what came to the draft meanwhile waits on
        return record

    @performs(Action.CHANGE_KB)
    def drop(self, kb_id: str) -> None:
        """Drop the draft."""
        staged = self._staged(kb_id)
        while not self._store.stage(kb_id, None, before=staged.version_id):
            staged = self._staged(kb_id)
        self.collect(kb_id, staged.version_id)

    @performs(Action.CHANGE_KB)
    def purge(
        self, kb_id: str, paths: Sequence[str], note: str = "", progress: ProgressCallback = ignore_progress
    ) -> PurgeReport:
        """Take documents out of all versions and out of everything that quotes them; a mark stands in their place.

        Covered are versions, originals, indexes and caches, conversations, logs, question sets, labels, promises, jobs
        and runs of this data folder. Not covered: backups, other servers' folders and buckets, files that were
        exported, the name and the id of the knowledge base, what people wrote in their own words, and an answer that
        is being written at this moment. A purge that ended early is continued by the next one, by the next change,
        or when a server starts.

        Args:
            paths: paths that documents have or had, or folders ("rrhh/").

        Raises:
            KbChangeError (kb_document_not_found): no version has a document under one of the paths.
            KbChangeError (kb_would_be_empty): there are no other documents; delete the knowledge base.
            KbPurgeUnfinished: a file could not be read or written; purge again.
        """
        base = self._store.version(kb_id)
        try:
            gone = self._purges.begin(kb_id, paths)
            if here := [Remove(one.path) for one in base.documents if gone.has(one)]:
                try:
                    documents = applied(kb_id, base.documents, here)
                except KbChangeError:
                    self._purges.cancel(kb_id)
                    raise
                self._put_in_place(kb_id, base, documents, "purged", note, progress)
            report = self._purges.finish(kb_id, gone)
            self.collect(kb_id)
            return report
        except OSError as error:
            path, reason = str(error.filename or self._store.folder(kb_id)), error.strerror or str(error)
            raise KbPurgeUnfinished(kb_id=kb_id, path=path, reason=reason) from error

    def finish_purges(self) -> None:
        """Continue the purges that ended early. One that fails again is logged and stays for the next time."""
        for record in self._store.records():
            try:
                self._finish_purge(record.kb_id)
            except ChatbotError as error:
                _log.warning("%s", error)

    def _finish_purge(self, kb_id: str) -> None:
        if left := self._purges.under_way(kb_id):
            self.purge(kb_id, left)

    def collect(self, kb_id: str, dropped: str = "") -> None:
        """Delete the versions that nothing needs: all but the newest ``KEPT`` and those that something refers to.

        Args:
            dropped: id of a draft that was dropped.
        """
        if self._purges.under_way(kb_id):
            return  # its quotations are looked for by the texts of all versions
        named = {sha256 for references in self.references for sha256 in references(kb_id)}
        self._store.collect(kb_id, lambda version: version.sha256 in named, dropped)
        staged = self._store.staged(kb_id)
        asked = ["", staged.version_id] if staged else [""]
        self._kbs.keep_only(kb_id, [self._store.version(kb_id, name).sha256 for name in asked])

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
        new: Sequence[NewDocument] = (),
    ) -> KbRecord:
        """Make a version of these documents the current one, with what others have changed in ``base`` meanwhile."""
        while True:
            now = self._store.version(kb_id)
            wanted = documents
            if now.version_id != base.version_id:
                wanted = merged(kb_id, base.documents, documents, now.documents)
                if wanted == now.documents:
                    return self._store.record(kb_id)
            version = self._draft(kb_id, wanted, progress, new)
            if record := self._store.publish(kb_id, version, now.version_id, what, note):
                self.collect(kb_id)
                return record

    def _put_in_draft(
        self,
        kb_id: str,
        waits: Staged | None,
        before: Version,
        documents: tuple[KbDocument, ...],
        progress: ProgressCallback,
        new: Sequence[NewDocument],
    ) -> KbRecord:
        """Make a version of these documents the draft, with what others have changed in it meanwhile.

        Args:
            waits: the draft that was seen; None for none.
            before: the version that the change was made to: that draft, or else the current one.
        """
        while True:
            version = self._draft(kb_id, documents, progress, new)
            base = waits.base if waits else before.version_id
            if self._store.stage(kb_id, version, base, waits.version_id if waits else ""):
                return self._store.record(kb_id, version.version_id)
            waits = self._store.staged(kb_id)
            now = self._store.version(kb_id, waits.version_id if waits else "")
            documents = merged(kb_id, before.documents, documents, now.documents)
            before = now

    def _draft(
        self,
        kb_id: str,
        documents: Sequence[KbDocument],
        progress: ProgressCallback,
        new: Sequence[NewDocument],
    ) -> Version:
        """Write a version and index its words, so that it can be asked as soon as it is the current one."""
        limit = self._live.current.kb_max_chars
        require_memory(min(limit, sum(document.original_chars for document in documents)))
        version = self._store.draft(kb_id, documents, limit, new)
        self._kbs.growing(kb_id, progress, version=version.version_id)
        return version

    def _staged(self, kb_id: str) -> Staged:
        if (staged := self._store.staged(kb_id)) is None:
            raise KbChangeError("kb_nothing_staged", kb_id=kb_id)
        return staged

    def _require_room(self, kb_id: str, new: Sequence[NewDocument]) -> None:
        if new:
            self._kbs.require_room(kb_id, new, self._store.bytes_of(kb_id))
