"""Read knowledge bases on disk: each is a folder with files that never change, and a head that says which count."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.documents.chunked_files import ChunkedFiles, chunk_files
from chatbot_mvp.documents.chunking import TARGET_CHARS
from chatbot_mvp.documents.kb_files import KbFile, text_hash
from chatbot_mvp.errors import ChatbotError, FileOfLaterVersion, KbChangeError, KbNotFound, KbUnreadable
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.heads import COPY, ERRORS, HEAD, is_head, read_head, unreadable
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.version_files import VersionFiles
from chatbot_mvp.knowledge_base.versions import (
    KEPT,
    Entry,
    Head,
    KbDocument,
    Staged,
    Version,
)
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Document

_log = logging.getLogger(__name__)

_TEXTS_KEPT = 12_000_000
"""Characters of joined texts that stay in memory, and of texts whose chunks do."""


class KbReader:
    """Reads ``<root>/<kb_id>/``: ``kb.json`` (the head) and the files of ``VersionFiles``.

    Every method that takes an id raises ``KbNotFound`` if there is no such KB, and ``KbUnreadable`` if what it reads
    of the KB is damaged. Where a version can be named, it is by its number or its id; "" is the current one, and one
    that is not kept raises ``KbChangeError`` (kb_version_not_found).
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = VersionFiles()
        self._told: set[str] = set()
        self._joined: BoundedCache[tuple[str, str], str] = BoundedCache(_TEXTS_KEPT, len)
        self._chunked: BoundedCache[tuple[str, int], ChunkedFiles] = BoundedCache(_TEXTS_KEPT, _chars)

    def records(self) -> list[KbRecord]:
        """Return the records of all readable KBs, newest first."""
        found = []
        for path in self._root.glob(f"*/{HEAD}"):
            with suppress(KbNotFound, KbUnreadable):
                found.append(self.record(path.parent.name))
        return sorted(found, key=lambda record: (record.added_at, record.kb_id), reverse=True)

    def unreadable(self) -> dict[str, ChatbotError]:
        """Return why each of the others is left out of ``records``: id -> error."""
        found: dict[str, ChatbotError] = {}
        for path in self._root.iterdir() if self._root.is_dir() else ():
            try:
                if not path.name.startswith(".") and path.is_dir():
                    next(path.iterdir(), None)  # a folder of somebody else's seems to be none
                    self.record(path.name)
            except KbNotFound:
                continue
            except OSError as error:
                found[path.name] = KbUnreadable("kb_unreadable", kb_id=path.name, reason=error.strerror or str(error))
            except ChatbotError as error:
                found[path.name] = error
        return found

    def record(self, kb_id: str, version: str = "") -> KbRecord:
        """Return the record of a KB, with the facts of one of its versions."""
        head, now = self._open(kb_id)
        found = self.version(kb_id, version) if version else now
        entry = head.entry(found.version_id)
        return KbRecord.of(head, found, entry.number if entry else 0)

    def history(self, kb_id: str) -> tuple[Entry, ...]:
        """Return the steps of a KB, oldest first; their versions need not be kept."""
        return self._head(kb_id)[0].history

    def staged(self, kb_id: str) -> Staged | None:
        """Return the draft of a KB; None if there is none."""
        return self._head(kb_id)[0].staged

    def versions_kept(self, kb_id: str) -> list[str]:
        """Return the ids of the versions that can still be read."""
        _, version = self._open(kb_id)
        return self._files.version_ids(self._root / kb_id) or [version.version_id]

    def version(self, kb_id: str, name: str = "") -> Version:
        """Return a version."""
        head, now = self._open(kb_id)
        if not name or name == now.version_id:
            return now
        entry = head.entry(name)
        version_id = entry.version_id if entry else name
        if version_id == now.version_id:
            return now
        kept = self._files.version_ids(self._root / kb_id)
        if version_id not in kept:
            legal = ", ".join(str(one.number) for one in head.history if one.version_id in kept)
            raise KbChangeError("kb_version_not_found", kb_id=kb_id, version=name, legal=legal)
        try:
            return self._files.version(self._root / kb_id, version_id)
        except ERRORS as error:
            raise unreadable(kb_id, error) from error

    def version_with(self, kb_id: str, sha256: str) -> Version | None:
        """Return the newest version with a text of this hash; None if none is kept."""
        head, now = self._open(kb_id)
        ids = dict.fromkeys([now.version_id, *(entry.version_id for entry in reversed(head.history))])
        for version_id in [*ids, *(one for one in self.versions_kept(kb_id) if one not in ids)]:
            with suppress(KbChangeError, KbUnreadable):
                if (found := self.version(kb_id, version_id)).sha256 == sha256:
                    return found
        return None

    def documents(self, kb_id: str, version: str = "") -> tuple[KbDocument, ...]:
        """Return the documents of a version, in the order of its text."""
        return self.version(kb_id, version).documents

    def to_change(self, kb_id: str, stage: bool, base: str = "") -> tuple[Version, Staged | None]:
        """Return the version that a change is made to, and the draft if that is the one.

        Args:
            stage: whether the change is for the draft. One that waits already is the version then.
            base: the version otherwise.
        """
        staged = self.staged(kb_id) if stage else None
        try:
            return self.version(kb_id, staged.version_id if staged else base), staged
        except (KbChangeError, KbUnreadable):
            if staged and self.staged(kb_id) != staged:  # it was dropped, or became current, while it was read
                return self.to_change(kb_id, stage, base)
            raise

    def files(self, kb_id: str, version: str = "") -> tuple[KbFile, ...]:
        """Return where each document of a version is in its text."""
        return self.version(kb_id, version).files

    def document(self, kb_id: str, version: str = "") -> Document:
        """Return the text of a version as one document."""
        record = self.record(kb_id, version)
        text = self._joined.get_or_build((kb_id, record.version), lambda: self._text(kb_id, record))
        return replace(titled(kb_id, text, self.files(kb_id, record.version)), source=record.kb_name)

    def chunks(self, kb_id: str, chars: int, version: str = "") -> ChunkedFiles:
        """Return the chunks of the text of a version.

        Args:
            chars: length at which a chunk is complete, in characters.
        """
        return self.chunked(self.document(kb_id, version), self.files(kb_id, version), chars)

    def chunked(self, document: Document, files: Sequence[KbFile], chars: int = TARGET_CHARS) -> ChunkedFiles:
        """Return ``chunk_files`` of a text, with what it has in common with the one before taken from there."""
        key = (document.doc_id, chars)
        found = chunk_files(document, files, chars, self._chunked.get(key))
        if document.doc_id:
            self._chunked.put(key, found)
        return found

    def text_of(self, kb_id: str, document: KbDocument) -> str:
        """Return the text of a document as it was parsed."""
        try:
            folder = self._root / kb_id
            if (folder / format_1.SOURCE).exists() and (version := self._head(kb_id)[1]) is not None:
                return format_1.texts_of(format_1.read_text(folder), version)[document.path].text
            return self._files.text(folder, document.sha256)
        except ERRORS as error:
            raise unreadable(kb_id, error) from error

    def original(self, kb_id: str, document: KbDocument) -> bytes | None:
        """Return the file that a document was uploaded as; None if it was not kept."""
        if not document.original:
            return None
        try:
            return self._files.original(self._root / kb_id, document.original)
        except OSError as error:
            raise unreadable(kb_id, error) from error

    def is_named(self, kb_id: str, name: str) -> bool:
        """Return whether a kept version of a KB names this text or original, or is the version of this id."""
        found = []
        with suppress(KbNotFound, KbUnreadable):
            head, now = self._open(kb_id)
            wanted = {entry.version_id for entry in head.history[-KEPT:]}
            wanted |= {head.staged.version_id, head.staged.base} if head.staged else set()
            found.append(now)
            for version_id in wanted.intersection(self._files.version_ids(self._root / kb_id)):
                with suppress(*ERRORS):
                    found.append(self._files.version(self._root / kb_id, version_id))
        return any(
            name == version.version_id or any(name in (one.sha256, one.original) for one in version.documents)
            for version in found
        )

    def lost(self, kb_id: str, version: str = "") -> list[str]:
        """Return the paths of the documents of a version whose texts cannot be read: the rest is answered from."""
        folder, documents = self._root / kb_id, self.documents(kb_id, version)
        if self._head(kb_id)[1] is not None:  # format 1 has one text
            return []
        return [one.path for one in documents if not self._files.is_whole(folder, one)]

    def whole(self, kb_id: str, documents: Iterable[KbDocument]) -> list[KbDocument]:
        """Return the documents whose texts can be read."""
        return [one for one in documents if self._files.is_whole(self._root / kb_id, one)]

    def damaged(self, kb_id: str) -> list[str]:
        """Return the files of a KB that cannot be read, except originals, as paths in its folder."""
        folder, texts = self._root / kb_id, dict[str, KbDocument]()
        found = [] if is_head(folder / HEAD) else [HEAD]
        for version_id in self._files.version_ids(folder):
            try:
                texts |= {one.sha256: one for one in self._files.version(folder, version_id).documents}
            except ERRORS:
                found.append(f"versions/{version_id}.json")
        return sorted(
            [*found, *(f"texts/{name}.txt" for name in texts if not self._files.is_whole(folder, texts[name]))]
        )

    def folder(self, kb_id: str) -> Path:
        """Return the folder of a KB."""
        return self._path(kb_id).parent

    def bytes_of(self, kb_id: str) -> int:
        """Return the bytes of all texts and originals of a KB."""
        return self._files.size(self._root / kb_id)

    # --- parts

    def _text(self, kb_id: str, record: KbRecord) -> str:
        folder, lost = self._root / kb_id, list[str]()
        try:
            if self._head(kb_id)[1] is not None:
                text = format_1.read_text(folder)
            else:
                text, lost = self._files.joined(folder, self.version(kb_id, record.version))
            if not lost and text_hash(text) != record.sha256:
                raise ValueError("the text is not the one that its record names")
        except ERRORS as error:
            raise unreadable(kb_id, error) from error
        if lost:
            self._warn(f"{kb_id} {lost}", "%s: documents cannot be read, and are left out: %s", kb_id, ", ".join(lost))
        return text

    def _open(self, kb_id: str) -> tuple[Head, Version]:
        """Return the head and the current version."""
        head, version = self._head(kb_id)
        if version is None:
            try:
                version = self._files.version(self._root / kb_id, head.current.version_id)
            except ERRORS as error:
                if self._head(kb_id)[0].current != head.current:  # a change came between, which may have deleted it
                    return self._open(kb_id)
                version = self._latest(head)
                if version is None:
                    raise unreadable(kb_id, error) from error
                said = "%s: version %d cannot be read, an earlier one counts: %s"
                self._warn(head.current.version_id, said, kb_id, head.current.number, error)
        return head, version

    def _latest(self, head: Head) -> Version | None:
        """Return the latest version of the history that can be read."""
        kept = set(self._files.version_ids(self._root / head.kb_id))
        for entry in reversed(head.history):
            if entry.version_id in kept:
                with suppress(*ERRORS):
                    return self._files.version(self._root / head.kb_id, entry.version_id)
        return None

    def _head(self, kb_id: str) -> tuple[Head, Version | None]:
        """Return the head, and the version of a KB of format 1."""
        path = self._path(kb_id)
        try:
            return read_head(path)
        except ERRORS as error:
            with suppress(*ERRORS):
                found = read_head(path.with_name(COPY if not isinstance(error, FileOfLaterVersion) else HEAD))
                self._warn(str(path), "%s cannot be read, and its copy counts: %s", path, error)
                return found
            raise unreadable(kb_id, error) from error

    def _warn(self, what: str, text: str, *values: object) -> None:
        """Log a warning about a file once."""
        if what not in self._told:
            self._told.add(what)
            _log.warning(text, *values)

    def _path(self, kb_id: str) -> Path:
        """Return the path of a head that is there."""
        path = self._root / kb_id / HEAD
        if not re.fullmatch(r"[a-z0-9-]+", kb_id) or not path.exists():
            known = ", ".join(sorted(p.parent.name for p in self._root.glob(f"*/{HEAD}"))) or "-"
            raise KbNotFound(kb_id=kb_id, legal=known)
        return path

    def _head_bytes(self, kb_id: str) -> bytes:
        with suppress(OSError):
            return (self._root / kb_id / HEAD).read_bytes()
        return b""


def titled(kb_id: str, text: str, files: Sequence[KbFile]) -> Document:
    # The first file's name: the title is indexed, and a new name of the KB must not change the index.
    return Document(doc_id=kb_id, title=Path(files[0].name).stem, text=text)


def _chars(chunks: ChunkedFiles) -> int:
    return chunks[-1].end if chunks else 0
