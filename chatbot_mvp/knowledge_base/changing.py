"""Changes to knowledge bases: documents come, go, move and change, and versions are restored, staged and published.

The version before answers until the new one is ready. Changes that are made at once are both there, unless they
concern one document: then the second is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from chatbot_mvp.errors import KbChangeError, KbPurgeUnfinished, KbUnreadable
from chatbot_mvp.knowledge_base.changes import Change, Put, applied, merged
from chatbot_mvp.knowledge_base.differences import DocumentDifference, differences
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.lines import Doomed
from chatbot_mvp.knowledge_base.memory import require_memory
from chatbot_mvp.knowledge_base.purging import Eraser, PurgeReport, Purges
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.versions import Entry, KbDocument, NewDocument, Staged, Version
from chatbot_mvp.knowledge_base.writing import documents_of
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

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
    """Reads and changes the knowledge bases of this data folder. Safe to share between sessions.

    Methods that change something raise ``KbChangeError`` if the change cannot be made, ``KbNotWritten`` if the disk
    refuses, and what ``KnowledgeBases.growing`` raises; then the knowledge base is as it was before.
    """

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases) -> None:
        self._store = kbs.store
        self._live = live
        self._kbs = kbs
        self.references: list[References] = []
        """What refers to texts. Versions with these texts stay."""
        self.erasers: list[Eraser] = []
        """What takes the text of purged documents out of other files."""
        self._purges = Purges(kbs, live.current, self.erasers)

    # --- read

    @performs(Action.READ)
    def history(self, kb_id: str) -> list[Step]:
        """Return the steps of a knowledge base, the newest first."""
        entries, kept = self._store.history(kb_id), set(self._store.versions_kept(kb_id))
        return [Step(one, one.number == entries[-1].number, one.version_id in kept) for one in reversed(entries)]

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
        if new:
            self._kbs.require_room(kb_id, new, self._store.bytes_of(kb_id))
        self._store.upgrade(kb_id)
        if self._store.mend(kb_id, new):
            self._kbs.forget_text(kb_id)
        put = [Put(document, one.about) for document, one in zip(documents_of(new), new, strict=True)]
        before, _ = self._store.to_change(kb_id, stage, base)
        documents = applied(kb_id, before.documents, [*changes, *put])
        if documents == before.documents:
            return self._store.record(kb_id, before.version_id)
        with self._changing(kb_id, progress):
            if stage:
                return self._put_in_draft(kb_id, before, documents, progress, new)
            return self._put_in_place(kb_id, before, documents, "changed", note, progress, new)

    @performs(Action.CHANGE_KB)
    def restore(
        self, kb_id: str, version: str, note: str = "", progress: ProgressCallback = ignore_progress
    ) -> KbRecord:
        """Give a knowledge base the documents of an earlier version again, as a new step; return its record."""
        with self._changing(kb_id, progress):
            base, wanted = self._store.version(kb_id), self._store.version(kb_id, version)
            return self._put_in_place(kb_id, base, wanted.documents, "restored", note, progress)

    @performs(Action.CHANGE_KB)
    def publish(self, kb_id: str, note: str = "", progress: ProgressCallback = ignore_progress) -> KbRecord:
        """Make the draft the current version, with what has changed since it was made; return its record."""
        with self._changing(kb_id, progress):
            staged = self._staged(kb_id)
            base, draft = self._store.version(kb_id, staged.base), self._store.version(kb_id, staged.version_id)
            return self._put_in_place(
                kb_id, base, draft.documents, "published", note, progress, draft=staged.version_id
            )

    @performs(Action.CHANGE_KB)
    def drop(self, kb_id: str) -> None:
        """Drop the draft."""
        with self._changing(kb_id):
            self._store.stage(kb_id, None, before=self._staged(kb_id).version_id)
            self._tidy(kb_id)

    @performs(Action.CHANGE_KB)
    def purge(
        self, kb_id: str, paths: Sequence[str], note: str = "", progress: ProgressCallback = ignore_progress
    ) -> PurgeReport:
        """Take documents out of all versions and out of everything that quotes them; a mark stands in their place.

        Covered are versions, originals, indexes and caches, conversations, logs, question sets, labels, promises, jobs
        and runs of this data folder. Not covered: backups, other servers' folders and buckets, files that were
        exported, the name and the id of the knowledge base, what people wrote in their own words, an answer that is
        being written at this moment, and what a full disk has not taken yet from another server. A purge that ended
        early is continued by the next one, by the next change, or when a server starts.

        Args:
            paths: as for ``purge_plan``, which says what goes.

        Raises:
            As ``purge_plan``.
            KbPurgeUnfinished: a file could not be read or written; purge again.
        """
        with self._store.changing(kb_id, lambda: progress(Progress("kb_index", 0, 1))):
            return self._purge(kb_id, paths, note, progress)

    @performs(Action.READ)
    def purgeable(self, kb_id: str) -> list[str]:
        """Return the paths of the documents that a purge may name: where they are, or were when they were removed."""
        return sorted(self._purges.lines(kb_id).paths())

    @performs(Action.READ)
    def purge_plan(self, kb_id: str, paths: Sequence[str]) -> Doomed:
        """Return what a purge would take out. Nothing changes.

        Args:
            paths: where documents are, or were when they were removed, or folders ("rrhh/"). A document goes with
                all texts that it had, also under its earlier paths. One that has an equal text, or that was under one
                of the paths and is elsewhere now, stays.

        Raises:
            KbChangeError (kb_document_not_found): there is no document under one of the paths.
            KbChangeError (kb_would_be_empty): there are no other documents; delete the knowledge base.
        """
        gone = self._purges.plan(kb_id, paths)
        if all(map(gone.has, self._store.version(kb_id).documents)):
            raise KbChangeError("kb_would_be_empty", kb_id=kb_id)
        return gone

    def _purge(self, kb_id: str, paths: Sequence[str], note: str, progress: ProgressCallback) -> PurgeReport:
        try:
            self._store.upgrade(kb_id)
            self._tidy(kb_id)  # a path in what a killed change has left names nothing
            gone = self.purge_plan(kb_id, [*paths, *self._purges.under_way(kb_id)])
            self._purges.begin(kb_id, paths, gone)
            base = self._store.version(kb_id)
            if any(map(gone.has, base.documents)):
                documents = tuple(self._store.whole(kb_id, (one for one in base.documents if not gone.has(one))))
                self._put_in_place(kb_id, base, documents, "purged", note, progress)
            report = self._purges.finish(kb_id, gone)
            self._tidy(kb_id)
            return report
        except OSError as error:
            path, reason = str(error.filename or self._store.folder(kb_id)), error.strerror or str(error)
            raise KbPurgeUnfinished(kb_id=kb_id, path=path, reason=reason) from error

    def finish_purges(self) -> None:
        """Continue the purges that ended early. One that fails again is logged, and stays."""
        for record in self._store.records():
            try:
                self._finish_purge(record.kb_id)
            except Exception as error:  # noqa: BLE001  (a damaged knowledge base keeps no server from starting)
                _log.warning("%s: %s", record.kb_id, error)

    def _finish_purge(self, kb_id: str) -> None:
        if self._purges.under_way(kb_id):
            self.purge(kb_id, ())

    @contextmanager
    def _changing(self, kb_id: str, progress: ProgressCallback = ignore_progress) -> Iterator[None]:
        """Change a knowledge base alone, after a purge of it that ended early."""
        with self._store.changing(kb_id, lambda: progress(Progress("kb_index", 0, 1))):
            if self._purges.under_way(kb_id):
                self._purge(kb_id, (), "", progress)
            self._leave_damaged(kb_id, progress)
            try:
                yield
            except BaseException:  # nothing stays of what is not made
                self._tidy(kb_id)
                raise

    def _leave_damaged(self, kb_id: str, progress: ProgressCallback) -> None:
        """Make a version without the documents whose texts cannot be read, so that the others can be changed."""
        self._store.upgrade(kb_id)
        whole = self._store.whole(kb_id, (now := self._store.version(kb_id)).documents)
        if whole and len(whole) < len(now.documents):
            lost = ", ".join(one.path for one in now.documents if one not in whole)
            _log.warning("documents of %s cannot be read, and go from its current version: %s", kb_id, lost)
            self._put_in_place(kb_id, now, tuple(whole), "changed", f"damaged: {lost}", progress)

    def collect(self, kb_id: str) -> None:
        """Delete the versions that nothing needs: all but the newest ``KEPT`` and those that something refers to."""
        with self._store.changing(kb_id):
            if self._purges.under_way(kb_id):  # its quotations are looked for by the texts of all versions
                return
            named = {sha256 for references in self.references for sha256 in references(kb_id)}
            self._store.collect(kb_id, lambda version: version.sha256 in named)
            asked, staged = [self._store.version(kb_id).sha256], self._store.staged(kb_id)
            with suppress(KbChangeError, KbUnreadable):  # a damaged draft cannot be asked
                asked += [self._store.version(kb_id, staged.version_id).sha256] if staged else []
            self._kbs.keep_only(kb_id, asked)

    def _tidy(self, kb_id: str) -> None:
        """Collect after a change. It is made or failed, whatever this meets, and the next one collects again."""
        try:
            self.collect(kb_id)
        except Exception as error:  # noqa: BLE001  (references come from all parts of the program)
            _log.warning("versions of %s were not collected: %s", kb_id, error)

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
        draft: str = "",
    ) -> KbRecord:
        """Make a version of these documents the current one, with what others have changed in ``base`` meanwhile.

        Args:
            draft: id of the draft that they are; it waits no longer then.
        """
        while True:
            now = self._store.version(kb_id)
            wanted = documents
            if now.version_id != base.version_id:
                wanted = self._merged(kb_id, base, documents, now, new)
                if wanted == now.documents:
                    if draft:
                        self._store.stage(kb_id, None, before=draft)
                    return self._store.record(kb_id)
            version = self._draft(kb_id, wanted, progress, new)
            if record := self._store.publish(kb_id, version, now.version_id, what, note, draft):
                self._tidy(kb_id)
                return record

    def _put_in_draft(
        self,
        kb_id: str,
        before: Version,
        documents: tuple[KbDocument, ...],
        progress: ProgressCallback,
        new: Sequence[NewDocument],
    ) -> KbRecord:
        """Make a version of these documents the draft, with what others have changed in ``before`` meanwhile.

        Args:
            before: the version that the change was made to: the draft if one waited, or else the current one.
        """
        while True:
            waits = self._store.staged(kb_id)
            now = self._store.version(kb_id, waits.version_id if waits else "")
            if now.version_id != before.version_id:
                documents, before = self._merged(kb_id, before, documents, now, new), now
            version = self._draft(kb_id, documents, progress, new)
            base = waits.base if waits else before.version_id
            if self._store.stage(kb_id, version, base, waits.version_id if waits else ""):
                return self._store.record(kb_id, version.version_id)

    def _merged(
        self,
        kb_id: str,
        base: Version,
        documents: Sequence[KbDocument],
        now: Version,
        new: Sequence[NewDocument],
    ) -> tuple[KbDocument, ...]:
        """Return what ``merged`` does, and raise KbChangeError (kb_changed_meanwhile) if a text was purged, too."""
        found = merged(kb_id, base.documents, documents, now.documents)
        there = {one.sha256 for one in (*now.documents, *documents_of(new))}
        left = [one for one in found if one.sha256 not in there]
        kept = self._store.whole(kb_id, left)
        for one in left:
            if one not in kept:
                raise KbChangeError("kb_changed_meanwhile", kb_id=kb_id, path=one.path)
        return found

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
