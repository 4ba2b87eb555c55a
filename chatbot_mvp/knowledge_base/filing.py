"""Files become documents: a knowledge base is made of them, gets them, or is made equal to a folder.

The work is done while the caller waits; ``Uploads`` does it in the background. One unusable file is told, and the
others go in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.errors import ChatbotError, KbChangeError, UploadError
from chatbot_mvp.knowledge_base.changes import Change, Describe, about_of
from chatbot_mvp.knowledge_base.changing import KbChanges
from chatbot_mvp.knowledge_base.gathering import Given, GivenFile, contents
from chatbot_mvp.knowledge_base.intake import FileState, Intake
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.memory import known_chars, require_memory
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.syncing import SyncPlan, sync_plan, with_moves_of_texts, without_purged
from chatbot_mvp.knowledge_base.versions import KbDocument, NewDocument
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

Filed = Literal["added", "replaced", "moved", "removed", "unchanged", "duplicate", "failed", "no_room"]


@dataclass(frozen=True)
class FileOutcome:
    """What became of one file or document."""

    path: str
    what: Filed
    """"no_room": it is kept and not searched, because the text before it fills KB_MAX_CHARS."""
    before: str = ""
    """The path that it had, if it moved."""
    same_as: str = ""
    """The document that has its text, for a duplicate."""
    code: str = ""
    """Error code of a failed one."""
    message: str = ""
    """Error message of a failed one, in English."""


@dataclass(frozen=True)
class Outcome:
    """What became of the files that somebody gave to a knowledge base."""

    record: KbRecord
    """Of the version with them; of the one that is there if nothing changed."""
    files: tuple[FileOutcome, ...]
    ignored: tuple[str, ...] = ()
    """Files in folders that no reader reads."""
    changed: bool = True

    @property
    def complete(self) -> bool:
        """Whether every file could be used."""
        return not any(file.what in ("failed", "no_room") for file in self.files)

    @property
    def counts(self) -> dict[str, int]:
        """How many files each thing became of."""
        found: dict[str, int] = {}
        for file in self.files:
            found[file.what] = found.get(file.what, 0) + 1
        return found


@dataclass
class _Read:
    """Files as they were read."""

    intake: Intake
    found: list[NewDocument]
    failed: list[FileState] = field(default_factory=list)

    @property
    def duplicates(self) -> list[FileState]:
        return [state for state in self.intake.states if state.stage == "duplicate"]


class KbFiling:
    """Makes documents of files. Safe to share between sessions; holds nothing of one user.

    Methods raise what ``KbChanges`` raises; then the knowledge base is as it was before. What was read until a stop is
    kept for a day, so that the same call continues behind it.
    """

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases, changes: KbChanges) -> None:
        self._live = live
        self._kbs = kbs
        self._changes = changes

    def create(
        self,
        kb_name: str,
        given: Given,
        about: Mapping[str, Any] | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> Outcome:
        """Make a knowledge base of some files.

        Args:
            about: metadata of each of them, as ``about_of`` gives it.

        Raises:
            KbChangeError (kb_name_taken, kb_same_documents)
            UploadError: no file can be used.
        """
        name = clean_name(kb_name)
        self._kbs.store.require_free_name(name)
        self._require_room(name, given)
        read = self._read("", given, (), (), about, progress)
        if not read.found:
            raise _unusable(read)
        require_memory(min(self._kbs.limits[0], sum(len(one.parsed.text) for one in read.found)))
        read.intake.kept_all()

        def kept(record: KbRecord, is_new: bool) -> None:
            if not is_new:
                raise KbChangeError("kb_same_documents", kb_id=record.kb_id, name=record.kb_name)

        record = self._kbs.make(read.found, name, kept, progress)
        read.intake.indexed()
        return self._outcome(record, (), read, given, ())

    def add(
        self,
        kb_id: str,
        given: Given,
        about: Mapping[str, Any] | None = None,
        note: str = "",
        stage: bool = False,
        progress: ProgressCallback = ignore_progress,
    ) -> Outcome:
        """Add files to a knowledge base; each replaces the document under its path.

        A file whose text another document of its folder has is left out, unless it replaces one.

        Args:
            about: as in ``create``, also of documents whose file has not changed. What is not in it stays as it is.
            note, stage: as in ``KbChanges.change``.

        Raises:
            UploadError: no file can be used.
        """
        before = self._kbs.store.to_change(kb_id, stage)[0].documents
        self._require_room(kb_id, given)
        known = [(one.sha256, one.path) for one in before]
        read = self._read(kb_id, given, known, [one.path for one in before], about, progress)
        if not read.found and not read.duplicates:
            raise _unusable(read)
        originals = {one.path: one.original for one in before}
        same = []
        for one in read.duplicates:
            said = about_of(**one.about) if originals.get(one.name) != one.original else {}
            if one.same_as == one.name and (told := {**said, **(about or {})}):
                same.append(Describe(one.name, told))
        return self._change(kb_id, same, read, given, before, note, stage, progress)

    def sync(
        self,
        kb_id: str,
        given: Given,
        into: str = "",
        note: str = "",
        stage: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        progress: ProgressCallback = ignore_progress,
    ) -> Outcome:
        """Make the documents of a knowledge base equal to files: files come, replace, move and go.

        A document that moved is recognised by its content and keeps its metadata. A file that cannot be used leaves
        the document under its path as it is.

        Args:
            given: all files, with ``into`` in their paths.
            into: folder of the knowledge base that they are all documents of; "" for all of it.
            confirmed: whether more than half of the documents may go.
            dry_run: change nothing, and return what would become of each file.

        Raises:
            KbChangeError (kb_sync_removes_most)
        """
        before = self._kbs.store.to_change(kb_id, stage)[0].documents
        scope = f"{clean_path(into)}/" if clean_path(into) else ""
        documents = [one for one in before if one.path.startswith(scope)]
        hashes, failed = {}, list(given.failed)
        for file, content in contents(given, self._kbs.limits[1]):
            if isinstance(content, bytes):
                hashes[file.path] = hashlib.sha256(content).hexdigest()
            else:
                failed.append(content)
        plan = sync_plan(documents, hashes, given.ignored, [state.name for state in failed])
        plan, refused = without_purged(plan, documents, self._kbs.store.require_unpurged(kb_id))
        failed += [FileState(path).failed(error) for path, error in refused.items()]
        new = replace(given, files=tuple(file for file in given.files if file.path in plan.read), failed=tuple(failed))
        self._require_room(kb_id, new)
        stay = [(one.sha256, one.path) for one in before if one.path not in {*plan.removed, *plan.read}]
        stay += [(one.sha256, move.to) for move in plan.moves for one in before if one.path == move.path]
        read = self._read(kb_id, new, stay, [one.path for one in before], None, progress)
        plan = with_moves_of_texts(plan, documents, read.found)
        if not confirmed and not dry_run:
            plan.require_most_stay(kb_id)
        if dry_run:
            return self._outcome(self._kbs.store.record(kb_id), before, read, given, plan.changes, plan, changed=False)
        return self._change(kb_id, plan.changes, read, given, before, note, stage, progress, plan)

    def reread(
        self,
        kb_id: str,
        paths: Sequence[str] = (),
        reader: str = "",
        note: str = "",
        stage: bool = False,
        progress: ProgressCallback = ignore_progress,
    ) -> Outcome:
        """Read the kept files of documents again, as a new version. What was read until a stop is kept for a day.

        Args:
            paths: documents, or folders ("rrhh/"); none for all. Those whose file is not kept are told as failed.
            reader: as in ``parse_upload``.
        """
        store = self._kbs.store
        before = store.to_change(kb_id, stage)[0].documents
        asked = [
            one for one in before if not paths or any(one.path == p or one.path.startswith(f"{p}/") for p in paths)
        ]
        lacking = [
            KbChangeError("kb_original_not_kept", kb_id=kb_id, path=one.path) for one in asked if not one.original
        ]
        failed = tuple(FileState(str(error.params["path"])).failed(error) for error in lacking)
        kept = tuple(
            GivenFile(one.path, one.path, one.bytes, partial(self._original, kb_id, one))
            for one in asked
            if one.original
        )
        given = Given(kept, failed)
        read = self._read(kb_id, given, (), [one.path for one in before], None, progress, reader)
        return self._change(kb_id, (), read, given, before, note, stage, progress)

    # --- parts

    def _original(self, kb_id: str, document: KbDocument, _most: int) -> bytes:  # within the limit since it was kept
        content = self._kbs.store.original(kb_id, document)
        if content is None:
            raise FileNotFoundError(2, "the file is missing", document.path)
        return content

    def _require_room(self, name: str, given: Given) -> None:
        """Refuse files that cannot all be kept, before they are read into memory."""
        size, limit_mb = sum(file.size for file in given.files), self._live.current.kb_quota_mb
        if size > limit_mb * 1_000_000:
            raise KbChangeError("kb_quota_exceeded", kb_id=name, needed_mb=round(size / 1e6, 1), limit_mb=limit_mb)

    def _read(
        self,
        kb_id: str,
        given: Given,
        known: Iterable[tuple[str, str]],
        paths: Collection[str],
        about: Mapping[str, Any] | None,
        progress: ProgressCallback,
        reader: str = "",
    ) -> _Read:
        files, failed = [], list(given.failed)
        for file, content in contents(given, self._kbs.limits[1]):
            if isinstance(content, bytes):
                files.append((file.path, content))
            elif content not in failed:
                failed.append(content)
        require_memory(known_chars(files, self._kbs.limits[0]))
        unpurged = self._kbs.store.require_unpurged(kb_id)
        intake = Intake(files, self._kbs.limits, self._kbs.parsed, known, paths, unpurged, reader)
        found = intake.read(lambda phase: progress(Progress(phase, intake.done, len(intake.states)))) or []
        failed += [state for state in intake.states if state.stage == "failed"]
        return _Read(intake, [replace(one, about=dict(about or {})) for one in found], failed)

    def _change(
        self,
        kb_id: str,
        changes: Sequence[Change],
        read: _Read,
        given: Given,
        before: Sequence[KbDocument],
        note: str,
        stage: bool,
        progress: ProgressCallback,
        plan: SyncPlan | None = None,
    ) -> Outcome:
        read.intake.kept_all()
        was = self._kbs.store.record(kb_id)
        if not changes and not read.found:
            return self._outcome(was, before, read, given, changes, plan, changed=False)
        progress(Progress("kb_index", 0, 1))
        record = self._changes.change(kb_id, changes, read.found, note, stage, progress)
        read.intake.indexed()
        return self._outcome(record, before, read, given, changes, plan, changed=record.version != was.version)

    def _outcome(
        self,
        record: KbRecord,
        before: Sequence[KbDocument],
        read: _Read,
        given: Given,
        changes: Sequence[Change],
        plan: SyncPlan | None = None,
        changed: bool = True,
    ) -> Outcome:
        was = {one.path: one for one in before}
        moves = {move.to: move.path for move in plan.moves} if plan else {}
        version = self._kbs.store.version(record.kb_id, record.version)
        now = {one.path: one for one in version.documents}
        placed = {file.name for file in version.files}
        rows = [FileOutcome(path, "moved", before=old) for path, old in moves.items()]
        for one in read.found:
            path = one.path
            if path in now and path not in placed:
                rows.append(FileOutcome(path, "no_room"))
            elif path not in moves:
                same = path in was and changed and was[path] == now.get(path)
                rows.append(FileOutcome(path, "unchanged" if same else "replaced" if path in was else "added"))
        if plan:
            rows += [FileOutcome(path, "removed") for path in plan.removed]
            rows += [FileOutcome(path, "unchanged") for path in plan.unchanged]
        for state in read.duplicates:
            what: Filed = "duplicate"
            if state.same_as == state.name:
                what = "unchanged" if was.get(state.name) == now.get(state.name) else "replaced"
            rows.append(FileOutcome(state.name, what, same_as=state.same_as))
        rows += [FileOutcome(one.name, "failed", code=one.code, message=one.message) for one in read.failed]
        return Outcome(record, tuple(sorted(rows, key=lambda row: row.path)), given.ignored, changed)


def _unusable(read: _Read) -> ChatbotError:
    """Return the error of files none of which can be used: the only one's own if there is one."""
    first = read.failed[0]
    if len(read.failed) == 1:
        return first.error
    return UploadError("upload_none_usable", count=len(read.failed), reason=first.message)
