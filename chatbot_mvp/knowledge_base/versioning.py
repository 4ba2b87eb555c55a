"""Write versions of knowledge bases: drafts, what becomes current, what other machines did, and what goes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import KbNotWritten, KbUnreadable
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.joining import joined_heads
from chatbot_mvp.knowledge_base.reading import ERRORS, HEAD, KbReader, titled
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.version_files import sync_all, synced
from chatbot_mvp.knowledge_base.versions import (
    KEPT,
    Head,
    KbDocument,
    NewDocument,
    Staged,
    Version,
    entry_of,
    joined,
    version_of,
)
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import in_utf8, make_folder, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json

PENDING_S = 3_600
"""A version that was never current stays so long: somebody is about to publish it."""


class KbVersions(KbReader):
    """Changes which versions there are and which is the current one. Args and errors are those of ``KbReader``.

    Everything that changes a KB is done by one thread of one process at a time.
    """

    def upgrade(self, kb_id: str) -> None:
        """Bring a KB of format 1 up to date, before its documents are changed."""
        if self._head(kb_id)[1] is not None:
            with self._writing(kb_id):
                self._upgraded(kb_id)

    def draft(
        self, kb_id: str, documents: Sequence[KbDocument], max_chars: int, new: Sequence[NewDocument] = ()
    ) -> Version:
        """Write a version of these documents. It is not the current one yet.

        Args:
            new: what the documents whose texts are not there yet are made of.

        Raises:
            KbNotWritten
        """
        with self._writing(kb_id):
            # In one step, so that whoever collects finds texts together with the version that names them.
            folder = self._upgraded(kb_id)
            self._put(folder, [cleaned(one) for one in new], "")
            return self._written(kb_id, folder, documents, max_chars)

    def publish(self, kb_id: str, version: Version, base: str, what: str, note: str = "") -> KbRecord | None:
        """Make a version the current one, if ``base`` is still the id of the current one.

        Returns:
            The record; None if another version has become the current one, then nothing is written.
        """
        with self._writing(kb_id):
            head, now = self._open(kb_id)
            if now.version_id != base:
                return None
            at = utc_now()
            staged = None if head.staged and head.staged.version_id == version.version_id else head.staged
            self._write_head(replace(head.moved(version, now, at, what, clean_name(note)), added_at=at, staged=staged))
        return self.record(kb_id)

    def stage(self, kb_id: str, version: Version | None, base: str = "", before: str = "") -> bool:
        """Let a version wait as the draft, if the draft is still the one that was seen; return whether it was.

        Args:
            version: None drops the draft.
            base: id of the version that the draft was made from.
            before: id of the draft that was seen; "" for none.
        """
        with self._writing(kb_id):
            self._upgraded(kb_id)
            head, _ = self._open(kb_id)
            if (head.staged.version_id if head.staged else "") != before:
                return False
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
            self._write_head(joined_heads(mine, theirs, read, write))

    def require_whole(self, kb_id: str, content: bytes) -> None:
        """Check that what the head of another machine names as current is here and whole. Raises as ``join``."""
        self._received(kb_id, content)

    def collect(self, kb_id: str, kept: Callable[[Version], bool], dropped: str = "") -> None:
        """Delete the versions that nothing needs, and the texts and originals that no version names any more.

        Args:
            kept: whether something refers to a version. The newest ``KEPT`` versions and the draft stay anyway; so do
                those that were never current and are less than ``PENDING_S`` old: somebody is about to publish them.
            dropped: id of a version that nobody is about to publish.
        """
        with self._writing(kb_id):
            head, _ = self._open(kb_id)
            folder = self._root / kb_id
            newest = {entry.version_id for entry in head.history[-KEPT:]}
            newest |= {head.staged.version_id, head.staged.base} if head.staged else set()
            past = {dropped, *(entry.version_id for entry in head.history)}
            found = []
            for version_id in self._files.version_ids(folder):
                with suppress(*ERRORS):
                    version = self._files.version(folder, version_id)
                    pending = version_id not in past and self._files.age_s(folder, version_id) < PENDING_S
                    if version_id in newest or pending or kept(version):
                        found.append(version)
            self._files.keep_only(folder, found)

    def purge(self, kb_id: str, gone: Callable[[KbDocument], bool]) -> None:
        """Rewrite every version without some documents, and delete their texts and originals.

        The current version must not have them. A version that has nothing else is deleted, and so is such a draft.
        """
        with self._writing(kb_id):
            folder = self._upgraded(kb_id)
            head, now = self._open(kb_id)
            kept: dict[str, Version] = {}
            for version_id in self._files.version_ids(folder):
                with suppress(*ERRORS):
                    version = self._files.version(folder, version_id)
                    if rest := [one for one in version.documents if not gone(one)]:
                        kept[version_id] = (
                            version
                            if len(rest) == len(version.documents)
                            else self._written(kb_id, folder, rest, version.max_chars)
                        )
            kept[now.version_id] = now
            ids = {version_id: version.version_id for version_id, version in kept.items()}
            history = tuple(replace(one, version_id=ids.get(one.version_id, one.version_id)) for one in head.history)
            staged = head.staged
            if staged is not None:
                base = ids.get(staged.base, now.version_id)
                staged = (
                    replace(staged, version_id=ids[staged.version_id], base=base) if staged.version_id in ids else None
                )
            self._write_head(replace(head, history=history, staged=staged))
            self._files.keep_only(folder, list(kept.values()))
            self._files.forget(folder)
        self._joined.drop(lambda key: key[0] == kb_id)
        self._chunked.drop(lambda key: key[0] == kb_id)

    # --- parts

    def _written(self, kb_id: str, folder: Path, documents: Sequence[KbDocument], max_chars: int) -> Version:
        try:
            text, files = joined(documents, self._files.texts(folder, documents), max_chars)
        except ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        version = version_of(documents, text, files, max_chars, self.chunked(titled(kb_id, text, files), files))
        self._files.put_version(folder, version)
        self._joined.put((kb_id, version.version_id), text)
        return version

    def _received(self, kb_id: str, content: bytes) -> Head:
        """Read the head of another machine, and check that what it names as current is here and whole."""
        folder = self._root / kb_id
        try:
            head = Head.from_json(known_version(parse_json(content), folder / HEAD, KNOWLEDGE_BASE), kb_id)
            version = self._files.version(folder, head.current.version_id)
            self._files.texts(folder, version.documents)
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        return head

    def _put(self, folder: Path, new: Sequence[NewDocument], at: str) -> tuple[KbDocument, ...]:
        """Write the texts and originals of documents."""
        alone = synced(len(new))
        found = []
        for one in new:
            self._files.put_text(folder, one.parsed.text, alone)
            original = "" if one.original is None else self._files.put_original(folder, one.original, alone)
            found.append(described(one, original, at))
        if not alone:
            sync_all()
        return tuple(found)

    def _upgraded(self, kb_id: str) -> Path:
        """Bring a KB of format 1 up to date, and return the folder of the KB."""
        folder = self._root / kb_id
        head, version = self._head(kb_id)
        if version is None:
            return folder
        try:
            texts = format_1.texts_of(format_1.read_text(folder), version)
        except ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        documents = self._put(folder, [NewDocument(*item) for item in texts.items()], head.added_at)
        named = {one.sha256: texts[one.path].text for one in documents}
        text, files = joined(documents, named, version.chars)
        chunks = self.chunked(titled(kb_id, text, files), files)
        now = replace(version_of(documents, text, files, version.chars, chunks), kb_truncated=version.kb_truncated)
        self._files.put_version(folder, now)
        self._write_head(replace(head, history=(entry_of(1, now, None, head.added_at, "created", ""),)))
        for name in (format_1.SOURCE, format_1.FILES):
            (folder / name).unlink(missing_ok=True)
        return folder

    def _write_head(self, head: Head) -> None:
        write_json(self._root / head.kb_id / HEAD, {VERSION: KNOWLEDGE_BASE, **asdict(head)})

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Let one thread of one process write at a time."""
        try:
            make_folder(self._root)
            with FileLock(self._root / ".lock"):
                yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise KbNotWritten(name=name, path=str(self._root), reason=reason) from error


def documents_of(new: Sequence[NewDocument]) -> tuple[KbDocument, ...]:
    """Return new documents as a version has them. Nothing is written."""
    at = utc_now()
    return tuple(
        described(one, hashlib.sha256(one.original).hexdigest() if one.original is not None else "", at)
        for one in map(cleaned, new)
    )


def cleaned(file: NewDocument | tuple[str, ParsedText]) -> NewDocument:
    """Return a document with a clean path and a text that UTF-8 can encode."""
    one = file if isinstance(file, NewDocument) else NewDocument(*file)
    parsed = replace(one.parsed, text=in_utf8(one.parsed.text).decode())
    return replace(one, path=clean_path(one.path) or one.path, parsed=parsed)


def described(new: NewDocument, original: str, at: str) -> KbDocument:
    parsed = new.parsed
    return KbDocument(
        path=new.path,
        sha256=text_hash(parsed.text),
        original=original,
        bytes=len(new.original or b""),
        encoding=parsed.encoding,
        original_chars=parsed.original_chars,
        kb_truncated=parsed.kb_truncated,
        page_starts=parsed.page_starts,
        empty_pages=parsed.empty_pages,
        lost=tuple(sorted(parsed.lost.items())),
        reader=parsed.reader,
        updated_at=at,
        **new.about,
    )
