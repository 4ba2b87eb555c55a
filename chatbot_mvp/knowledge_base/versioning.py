"""Write versions of knowledge bases: drafts, what becomes current, what other machines did, and what goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.documents.names import clean_name
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.knowledge_base.changes import merged
from chatbot_mvp.knowledge_base.heads import ERRORS, HEAD, unreadable
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.version_files import DAMAGED
from chatbot_mvp.knowledge_base.versions import (
    KEPT,
    RENAMED,
    Entry,
    Head,
    KbDocument,
    NewDocument,
    Staged,
    Version,
    identity_of,
)
from chatbot_mvp.knowledge_base.writing import KbWriter, cleaned
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, known_version
from chatbot_mvp.storage.json_object import parse_json

Read = Callable[[str], Version | None]
"""Gives a version by its id; None if it is not kept."""
Write = Callable[[Sequence[KbDocument], int], Version]
"""Writes a version of these documents with this limit of characters."""


def joined_heads(mine: Head, theirs: Head, read: Read, write: Write) -> Head:
    """Return the head that has the steps of both, in the order of their times. The later name counts.

    - If one of them has all steps of the other, its version is the current one.
    - Otherwise the documents are merged as ``merged`` does: both changes are there, in a step of its own.
    - If both changed one document, theirs is the current version, and mine waits as the draft, if none waits yet.

    Whichever machine does it first, the other one comes to the same head when it sees the result.
    """
    same = _common(mine.history, theirs.history)
    left, right = mine.history[same:], theirs.history[same:]
    steps = _joined(mine.history[:same], left, right)
    name = next((step.note for step in reversed(steps) if step.what == RENAMED), theirs.kb_name)
    added_at = max(mine.added_at, theirs.added_at)
    purged = tuple(sorted({*mine.purged, *theirs.purged}))
    head = Head(mine.kb_id, name, added_at, steps, theirs.staged or mine.staged, purged)
    if _keys(left) <= _keys(right):
        return replace(head, history=theirs.history)
    if _keys(right) <= _keys(left):
        return replace(head, history=mine.history)
    my, their = read(mine.current.version_id), read(theirs.current.version_id)
    if my is None or their is None:  # the files of the one here are damaged
        return replace(head, history=theirs.history)
    base = read(mine.history[same - 1].version_id) if same else None
    now = their
    try:
        documents = merged(mine.kb_id, base.documents if base else (), my.documents, their.documents)
        now = write(documents, their.max_chars)
    except KbChangeError:
        waits = Staged(my.version_id, base.version_id if base else their.version_id, mine.current.at)
        head = replace(head, staged=head.staged or waits)
    return head if head.current.version_id == now.version_id else head.moved(now, their, added_at, "merged")


def _common(one: Sequence[Entry], other: Sequence[Entry]) -> int:
    """Return how many first steps two histories share."""
    pairs = zip(one, other, strict=False)
    return next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(one), len(other)))


def _keys(steps: Sequence[Entry]) -> set[Entry]:
    return {replace(step, number=0) for step in steps}


def _joined(common: Sequence[Entry], left: Sequence[Entry], right: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return all steps once, those that are not common by their times, with numbers as ``Head.moved`` gives them."""
    later = sorted(_keys(left) | _keys(right), key=lambda step: (step.at, step.version_id, step.what, step.note))
    steps, number = list(common), common[-1].number if common else 0
    for step in later:
        number += step.what != RENAMED
        steps.append(replace(step, number=number))
    return tuple(steps)


class KbVersions(KbWriter):
    """Changes which versions there are and which is the current one. Args and errors are those of ``KbReader``."""

    def require_unpurged(self, kb_id: str) -> Callable[[str, str], None]:
        """Return what raises KbChangeError (kb_document_purged) for path and hash of a text that were purged.

        Args:
            kb_id: "" for a KB that is made.
        """
        purged = frozenset(self._head(kb_id)[0].purged if kb_id else ())

        def require(path: str, sha256: str) -> None:
            if identity_of(path, sha256) in purged:
                raise KbChangeError("kb_document_purged", kb_id=kb_id, path=path)

        return require

    def draft(
        self, kb_id: str, documents: Sequence[KbDocument], max_chars: int, new: Sequence[NewDocument] = ()
    ) -> Version:
        """Write a version of these documents. It is not the current one yet.

        Args:
            new: what the documents whose texts are not there yet are made of.

        Raises:
            KbNotWritten
            KbChangeError (kb_document_purged): nothing is written.
        """
        with self._writing(kb_id):
            folder = self._upgraded(kb_id)
            self._require_unpurged(kb_id, documents)
            self._put(folder, [cleaned(one) for one in new], "")
            return self._written(kb_id, folder, documents, max_chars)

    def publish(
        self, kb_id: str, version: Version, base: str, what: str, note: str = "", draft: str = ""
    ) -> KbRecord | None:
        """Make a version the current one, if ``base`` is still the id of the current one.

        Args:
            draft: id of the draft that it was made of, which waits no longer; so does ``version``.

        Returns:
            The record; None if another version has become the current one, then nothing is written.

        Raises:
            KbChangeError: kb_document_purged, or kb_version_incomplete, because a file of it is missing.
        """
        with self._writing(kb_id):
            head, now = self._open(kb_id)
            if now.version_id != base:
                return None
            self._require_publishable(head, now, version)
            at = utc_now()
            staged = None if head.staged and head.staged.version_id in (version.version_id, draft) else head.staged
            head = replace(head.moved(version, now, at, what, clean_name(note)), added_at=at, staged=staged)
            self._write_head(head)
        return KbRecord.of(head, version, head.current.number)

    def stage(self, kb_id: str, version: Version | None, base: str = "", before: str = "") -> bool:
        """Let a version wait as the draft, if the draft is still the one that was seen; return whether it was.

        Args:
            version: None drops the draft.
            base: id of the version that the draft was made from.
            before: id of the draft that was seen; "" for none.
        """
        with self._writing(kb_id):
            self._upgraded(kb_id)
            head, now = self._open(kb_id)
            if (head.staged.version_id if head.staged else "") != before:
                return False
            if version:
                self._require_publishable(head, now, version)
            staged = Staged(version.version_id, base, utc_now()) if version else None
            self._write_head(replace(head, staged=staged))
            return True

    def join(self, kb_id: str, content: bytes) -> None:
        """Join the head of another machine into the one here, as ``joined_heads`` does.

        Args:
            content: the other machine's ``kb.json``. The files of its current version are here.

        Raises:
            KbUnreadable: it is damaged, or a file of its current version is missing or damaged.
            FileOfLaterVersion
        """
        with self._writing(kb_id):
            folder = self._upgraded(kb_id) if self._head_bytes(kb_id) else self._root / kb_id
            theirs = self._received(kb_id, content)

            def read(version_id: str) -> Version | None:
                with suppress(*ERRORS):
                    return self._files.version(folder, version_id)
                return None

            def write(documents: Sequence[KbDocument], max_chars: int) -> Version:
                return self._written(kb_id, folder, documents, max_chars)

            mine = self._head(kb_id)[0] if self._head_bytes(kb_id) else theirs
            head = joined_heads(mine, theirs, read, write)
            now = read(head.current.version_id)
            rest = [one for one in now.documents if one.identity not in head.purged] if now else []
            if now and rest and len(rest) < len(now.documents):
                head = head.moved(write(rest, now.max_chars), now, head.added_at, "purged")
            self._write_head(head)

    def require_whole(self, kb_id: str, content: bytes) -> None:
        """Check that what the head of another machine names as current is here and whole. Raises as ``join``."""
        self._received(kb_id, content)

    def collect(self, kb_id: str, kept: Callable[[Version], bool]) -> None:
        """Delete the versions that nothing needs, and the texts and originals that no version names any more.

        Call it while ``changing``: a version that was never current is then what a change that ended early has left.

        Args:
            kept: whether something refers to a version. The newest ``KEPT`` versions and the draft stay anyway.
        """
        with self._writing(kb_id):
            head, _ = self._open(kb_id)
            folder = self._root / kb_id
            needed = {entry.version_id for entry in head.history[-KEPT:]}
            needed |= {head.staged.version_id, head.staged.base} if head.staged else set()
            found = self._versions_of(kb_id)
            lost = needed.intersection(self._files.version_ids(folder)) - {one.version_id for one in found}
            self._files.keep_only(folder, [one for one in found if one.version_id in needed or kept(one)], bool(lost))

    def mend(self, kb_id: str, new: Sequence[NewDocument]) -> bool:
        """Write the texts of the current version that cannot be read and that these documents have; tell if any."""
        folder, names = self._root / kb_id, {text_hash(one.parsed.text): one for one in map(cleaned, new)}
        named = [one for one in self._open(kb_id)[1].documents if one.sha256 in names]
        lost = [names[one.sha256] for one in named if not self._files.is_whole(folder, one)]
        if lost:
            with self._writing(kb_id):
                self._put(folder, lost, "")
            self._joined.drop(lambda key: key[0] == kb_id)
            self._chunked.drop(lambda key: key[0] == kb_id)
        return bool(lost)

    def purge(self, kb_id: str, gone: Callable[[KbDocument], bool], note: Callable[[str], str]) -> None:
        """Rewrite every version without some documents, and delete their texts and originals.

        The current version must not have them. A version that has nothing else is deleted, and so is such a draft. A
        draft that differs from the current version in nothing else waits no longer.

        Args:
            note: returns what stays of the note of a step.
        """
        with self._writing(kb_id):
            folder = self._upgraded(kb_id)
            head, now = self._open(kb_id)
            kept: dict[str, Version] = {}
            purged = set(head.purged)
            for version in self._versions_of(kb_id):
                rest = [one for one in version.documents if not gone(one)]
                if len(rest) < len(version.documents):  # it is written anew, of what can be read of it
                    rest = self.whole(kb_id, rest)
                purged.update(one.identity for one in version.documents if gone(one))
                if len(rest) == len(version.documents):
                    kept[version.version_id] = version
                elif rest:
                    kept[version.version_id] = self._written(kb_id, folder, rest, version.max_chars)
            kept[now.version_id] = now
            ids = {version_id: version.version_id for version_id, version in kept.items()}
            history = tuple(
                replace(
                    one,
                    version_id=ids.get(one.version_id, one.version_id),
                    note=one.note if one.what == RENAMED else note(one.note),
                )
                for one in head.history
            )
            staged = head.staged
            if staged is not None:
                base, draft = ids.get(staged.base, now.version_id), ids.get(staged.version_id, now.version_id)
                staged = replace(staged, version_id=draft, base=base) if draft != now.version_id else None
            self._write_head(replace(head, history=history, staged=staged, purged=tuple(sorted(purged))))
            self._files.keep_only(folder, list(kept.values()))
            shutil.rmtree(folder / DAMAGED, ignore_errors=True)
            self._files.forget(folder)
        self._joined.drop(lambda key: key[0] == kb_id)
        self._chunked.drop(lambda key: key[0] == kb_id)

    # --- parts

    def _require_publishable(self, head: Head, now: Version, version: Version) -> None:
        """Check that nothing of a version was purged, and that its files are there.

        A file that the current version lacks already was lost before, and keeps nobody from changing the others.
        """
        self._require_unpurged(head.kb_id, version.documents)
        folder = self._root / head.kb_id
        if lost := self._files.missing(folder, version) - self._files.missing(folder, now):
            raise KbChangeError("kb_version_incomplete", kb_id=head.kb_id, path=min(lost))

    def _require_unpurged(self, kb_id: str, documents: Sequence[KbDocument]) -> None:
        require = self.require_unpurged(kb_id)
        for one in documents:
            require(one.path, one.sha256)

    def _received(self, kb_id: str, content: bytes) -> Head:
        """Read the head of another machine, and check that what it names as current is here and whole."""
        folder = self._root / kb_id
        try:
            head = Head.from_json(known_version(parse_json(content), folder / HEAD, KNOWLEDGE_BASE), kb_id)
            version = self._files.version(folder, head.current.version_id)
            self._files.texts(folder, version.documents)
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            raise unreadable(kb_id, error) from error
        return head
