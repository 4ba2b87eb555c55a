"""Knowledge bases on disk: each is a folder with files that never change, and a head that says which are current."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.documents.chunked_files import ChunkedFiles, chunk_files
from chatbot_mvp.documents.chunking import TARGET_CHARS
from chatbot_mvp.documents.kb_files import KbFile, text_hash
from chatbot_mvp.documents.names import clean_file_name, clean_name, clean_path
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.errors import FileOfLaterVersion, KbChangeError, KbNotFound, KbNotWritten, KbUnreadable, UploadError
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.joining import joined_heads
from chatbot_mvp.knowledge_base.record import KbRecord, possible_ids
from chatbot_mvp.knowledge_base.version_files import VersionFiles, sync_all, synced
from chatbot_mvp.knowledge_base.versions import (
    KEPT,
    RENAMED,
    Entry,
    Head,
    KbDocument,
    NewDocument,
    Staged,
    Version,
    entry_of,
    joined,
    version_of,
    with_documents,
)
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import in_utf8, make_folder, write_atomically, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Document

_HEAD = "kb.json"
PENDING_S = 3_600
_TEXTS_KEPT = 12_000_000
"""Characters of joined texts that stay in memory, and of texts whose chunks do."""
_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OSError, FileOfLaterVersion)
"""What reading a damaged file raises."""


class KbStore:
    """Reads and writes ``<root>/<kb_id>/``: ``kb.json`` (the head) and the files of ``VersionFiles``.

    The id is made from the first file's name and the content. An equal upload gives the same KB as long as its current
    version is that content, and it keeps its name; other content never replaces a KB. Safe for threads and processes:
    a reader sees the version before a change or the one after it, and whatever ends a change early leaves the one
    before.

    Every method that takes an id raises ``KbNotFound`` if there is no such KB, and ``KbUnreadable`` if what it reads
    of the KB is damaged. Where a version can be named, it is by its number or its id; "" is the current one, and one
    that is not kept raises ``KbChangeError`` (kb_version_not_found).
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = VersionFiles()
        self._joined: BoundedCache[tuple[str, str], str] = BoundedCache(_TEXTS_KEPT, len)
        self._chunked: BoundedCache[tuple[str, int], ChunkedFiles] = BoundedCache(_TEXTS_KEPT, _chars)

    # --- create

    def add(self, name: str, content: bytes, max_chars: int, max_mb: int, max_pages: int = 3_000) -> KbRecord:
        """Parse and store one uploaded file. It becomes the newest KB.

        Raises:
            UploadError, MissingPackage: the file cannot be read; existing KBs are unchanged.
        """
        parsed = parse_upload(name, content, max_chars, max_mb, max_pages)
        return self.keep([NewDocument(clean_file_name(name), parsed, content)], max_chars)

    def keep(
        self, files: Sequence[NewDocument | tuple[str, ParsedText]], max_chars: int, kb_name: str = ""
    ) -> KbRecord:
        """Keep parsed files as one KB, as ``keeping`` does.

        Raises:
            UploadError (upload_empty): there is no text.
        """
        with self.keeping(files, max_chars, kb_name) as record:
            return record

    @contextmanager
    def keeping(
        self, files: Sequence[NewDocument | tuple[str, ParsedText]], max_chars: int, kb_name: str = ""
    ) -> Iterator[KbRecord]:
        """Store parsed files as one KB, which becomes the newest. If the block fails, the KB is again as it was before.

        If the same files are stored already, their KB keeps its name, and only its time changes.

        Args:
            files: at least one; (path, parsed text) for one whose original is not kept. The order of their paths is
                that of the text.
            max_chars: limit of the joined text in characters.
            kb_name: by default the first file's name and the number of further files.

        Raises:
            UploadError (upload_empty): the files have no text.
            KbNotWritten: the disk is full or refuses to write.
        """
        given = [_new(file) for file in files]
        new = sorted(given, key=lambda one: one.path)
        if not any(one.parsed.text.strip() for one in new):
            raise UploadError("upload_empty", name=given[0].path)
        name = clean_name(kb_name) or (given[0].path if len(given) == 1 else f"{given[0].path} +{len(given) - 1}")
        with self._writing(name):
            kb_id, before = self._create(new, max_chars, name)
            written = self._head_bytes(kb_id)
        try:
            yield self.record(kb_id)
        except BaseException:
            with self._writing(name):
                # Another upload of the same content has written its own time: the KB is theirs too.
                if self._head_bytes(kb_id) == written:
                    self._put_back(kb_id, before)
            raise

    def _create(self, new: Sequence[NewDocument], max_chars: int, name: str) -> tuple[str, bytes]:
        """Write a KB under the first of its ids that no other content has; return its id and the head before."""
        texts = {text_hash(one.parsed.text): one.parsed.text for one in new}
        at = utc_now()
        plain = tuple(_document(one, "", at) for one in new)
        text, files = joined(plain, texts, max_chars)
        version = version_of(plain, text, files, max_chars, self.chunked(_titled("", text, files), files))
        kb_id, head = self._place(version)
        folder, before = self._root / kb_id, self._head_bytes(kb_id)
        try:
            make_folder(folder)
            if head is not None and self._is_whole(kb_id):
                self._write_head(replace(head, added_at=at))
                return kb_id, before
            documents = self._put(folder, new, at)
            version = with_documents(version, documents)
            self._files.put_version(folder, version)
            # The head comes last: a folder without it is not listed, so a crash leaves no incomplete KB in the list.
            entry = entry_of(1, version, None, at, "created", "")
            self._write_head(Head(kb_id, head.kb_name if head else name, at, (entry,)))
        except BaseException:
            self._put_back(kb_id, before)
            raise
        return kb_id, before

    def _put(self, folder: Path, new: Sequence[NewDocument], at: str) -> tuple[KbDocument, ...]:
        """Write the texts and originals of documents."""
        alone = synced(len(new))
        found = []
        for one in new:
            self._files.put_text(folder, one.parsed.text, alone)
            original = "" if one.original is None else self._files.put_original(folder, one.original, alone)
            found.append(_document(one, original, at))
        if not alone:
            sync_all()
        return tuple(found)

    def _place(self, version: Version) -> tuple[str, Head | None]:
        """Return the id for a content, and the head that is there if it is a KB of that content."""
        ids = possible_ids(version.sha256, version.files)
        for kb_id in (*ids, *(f"{ids[-1]}-{number}" for number in range(2, 1_000))):
            if not (self._root / kb_id / _HEAD).exists():
                return kb_id, None
            try:
                head, known = self._open(kb_id)
                if known.content == version.content:
                    return kb_id, head
            except (KbNotFound, KbUnreadable):
                if self._had(kb_id, version):
                    with suppress(KbUnreadable):
                        return kb_id, self._head(kb_id)[0]
                    return kb_id, None
        raise KbNotWritten(
            name=version.files[0].name, path=str(self._root / ids[-1]), reason="other content has its id"
        )

    def _had(self, kb_id: str, version: Version) -> bool:
        """Return whether a damaged KB was one of the content of ``version``."""
        folder = self._root / kb_id
        for version_id in self._files.version_ids(folder):
            with suppress(*_ERRORS):
                if self._files.version(folder, version_id).sha256 == version.sha256:
                    return True
        with suppress(OSError, ValueError):
            return text_hash(format_1.read_text(folder)) == version.sha256
        return all((folder / "texts" / f"{one.sha256}.txt").is_file() for one in version.documents)

    def _is_whole(self, kb_id: str) -> bool:
        try:
            self.document(kb_id)
        except KbUnreadable:
            return False
        return True

    # --- change

    def documents(self, kb_id: str, version: str = "") -> tuple[KbDocument, ...]:
        """Return the documents of a version, in the order of its text."""
        return self.version(kb_id, version).documents

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
            self._put(folder, [_new(one) for one in new], "")
            return self._written(kb_id, folder, documents, max_chars)

    def _written(self, kb_id: str, folder: Path, documents: Sequence[KbDocument], max_chars: int) -> Version:
        try:
            text, files = joined(documents, self._files.texts(folder, documents), max_chars)
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        version = version_of(documents, text, files, max_chars, self.chunked(_titled(kb_id, text, files), files))
        self._files.put_version(folder, version)
        self._joined.put((kb_id, version.version_id), text)
        return version

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

    def stage(self, kb_id: str, version: Version | None, base: str = "") -> None:
        """Let a version wait as the draft, in place of the one that waits; None drops that one."""
        with self._writing(kb_id):
            self._upgraded(kb_id)
            head, _ = self._open(kb_id)
            staged = Staged(version.version_id, base, utc_now()) if version else None
            self._write_head(replace(head, staged=staged))

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
                with suppress(*_ERRORS):
                    return self._files.version(folder, version_id)
                return None

            def write(documents: Sequence[KbDocument], max_chars: int) -> Version:
                return self._written(kb_id, folder, documents, max_chars)

            mine = self._head(kb_id)[0] if self._head_bytes(kb_id) else theirs
            self._write_head(joined_heads(mine, theirs, read, write))

    def require_whole(self, kb_id: str, content: bytes) -> None:
        """Check that what the head of another machine names as current is here and whole. Raises as ``join``."""
        self._received(kb_id, content)

    def _received(self, kb_id: str, content: bytes) -> Head:
        """Read the head of another machine, and check that what it names as current is here and whole."""
        folder = self._root / kb_id
        try:
            head = Head.from_json(known_version(parse_json(content), folder / _HEAD, KNOWLEDGE_BASE), kb_id)
            version = self._files.version(folder, head.current.version_id)
            self._files.texts(folder, version.documents)
        except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        return head

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
                with suppress(*_ERRORS):
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
                with suppress(*_ERRORS):
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

    def rename(self, kb_id: str, kb_name: str) -> KbRecord:
        """Give a KB another name. Its id stays, so its index and conversations remain valid."""
        with self._writing(kb_name):
            self._upgraded(kb_id)
            head, now = self._open(kb_id)
            self._write_head(replace(head.moved(now, now, utc_now(), RENAMED, kb_name), kb_name=kb_name))
        return self.record(kb_id)

    def recount(self, kb_id: str) -> None:
        """Count chunks and languages again, since another version of the program may count them otherwise."""
        with self._writing(kb_id):
            folder = self._upgraded(kb_id)
            _, now = self._open(kb_id)
            text = self._text(kb_id, self.record(kb_id))
            chunks = self.chunked(_titled(kb_id, text, now.files), now.files)
            self._files.put_version(folder, version_of(now.documents, text, now.files, now.max_chars, chunks))

    def delete(self, kb_id: str) -> None:
        """Delete a KB and its folder.

        Raises:
            KbNotFound: there is no KB with this id.
        """
        with self._writing(kb_id):
            self._path(kb_id)
            # Delete the head first: after a crash, what is left is not listed.
            (self._root / kb_id / _HEAD).unlink()
            shutil.rmtree(self._root / kb_id)
        self._files.forget(self._root / kb_id)
        self._joined.drop(lambda key: key[0] == kb_id)
        self._chunked.drop(lambda key: key[0] == kb_id)

    # --- read

    def records(self) -> list[KbRecord]:
        """Return the records of all readable KBs, newest first."""
        found = []
        for path in self._root.glob(f"*/{_HEAD}"):
            with suppress(KbNotFound, KbUnreadable):
                found.append(self.record(path.parent.name))
        return sorted(found, key=lambda record: (record.added_at, record.kb_id), reverse=True)

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
        if version_id not in self._files.version_ids(self._root / kb_id):
            kept = set(self._files.version_ids(self._root / kb_id))
            legal = ", ".join(str(one.number) for one in head.history if one.version_id in kept)
            raise KbChangeError("kb_version_not_found", kb_id=kb_id, version=name, legal=legal)
        try:
            return self._files.version(self._root / kb_id, version_id)
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def version_with(self, kb_id: str, sha256: str) -> Version | None:
        """Return the newest version with a text of this hash; None if none is kept."""
        head, now = self._open(kb_id)
        ids = dict.fromkeys([now.version_id, *(entry.version_id for entry in reversed(head.history))])
        for version_id in [*ids, *(one for one in self.versions_kept(kb_id) if one not in ids)]:
            with suppress(KbChangeError, KbUnreadable):
                if (found := self.version(kb_id, version_id)).sha256 == sha256:
                    return found
        return None

    def files(self, kb_id: str, version: str = "") -> tuple[KbFile, ...]:
        """Return where each document of a version is in its text."""
        return self.version(kb_id, version).files

    def document(self, kb_id: str, version: str = "") -> Document:
        """Return the text of a version as one document."""
        record = self.record(kb_id, version)
        text = self._joined.get_or_build((kb_id, record.version), lambda: self._text(kb_id, record))
        return replace(_titled(kb_id, text, self.files(kb_id, record.version)), source=record.kb_name)

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
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def original(self, kb_id: str, document: KbDocument) -> bytes | None:
        """Return the file that a document was uploaded as; None if it was not kept."""
        if not document.original:
            return None
        try:
            return self._files.original(self._root / kb_id, document.original)
        except OSError as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def is_named(self, kb_id: str, name: str) -> bool:
        """Return whether a kept version of a KB names this text or original, or is the version of this id."""
        found = []
        with suppress(KbNotFound, KbUnreadable):
            head, now = self._open(kb_id)
            wanted = {entry.version_id for entry in head.history[-KEPT:]}
            wanted |= {head.staged.version_id, head.staged.base} if head.staged else set()
            found.append(now)
            for version_id in wanted.intersection(self._files.version_ids(self._root / kb_id)):
                with suppress(*_ERRORS):
                    found.append(self._files.version(self._root / kb_id, version_id))
        return any(
            name == version.version_id or any(name in (one.sha256, one.original) for one in version.documents)
            for version in found
        )

    def folder(self, kb_id: str) -> Path:
        """Return the folder of a KB."""
        return self._path(kb_id).parent

    def bytes_of(self, kb_id: str) -> int:
        """Return the bytes of all texts and originals of a KB."""
        return self._files.size(self._root / kb_id)

    # --- parts

    def _text(self, kb_id: str, record: KbRecord) -> str:
        folder = self._root / kb_id
        try:
            if self._head(kb_id)[1] is not None:
                text = format_1.read_text(folder)
            else:
                version = self.version(kb_id, record.version)
                text, _ = joined(version.documents, self._files.texts(folder, version.documents), version.max_chars)
            if text_hash(text) != record.sha256:
                raise ValueError("the text is not the one that its record names")
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        return text

    def _open(self, kb_id: str) -> tuple[Head, Version]:
        """Return the head and the current version."""
        head, version = self._head(kb_id)
        if version is None:
            try:
                version = self._files.version(self._root / kb_id, head.current.version_id)
            except _ERRORS as error:
                raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        return head, version

    def _head(self, kb_id: str) -> tuple[Head, Version | None]:
        """Return the head, and the version of a KB of format 1."""
        path = self._path(kb_id)
        try:
            content = parse_json(path.read_bytes())
            found = known_version(content, path, KNOWLEDGE_BASE)
            if content[VERSION] == format_1.FORMAT:
                return format_1.read(path.parent, found)
            return Head.from_json(found, kb_id), None
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def _path(self, kb_id: str) -> Path:
        """Return the path of a head that is there."""
        path = self._root / kb_id / _HEAD
        if not re.fullmatch(r"[a-z0-9-]+", kb_id) or not path.is_file():
            known = ", ".join(sorted(p.parent.name for p in self._root.glob(f"*/{_HEAD}"))) or "-"
            raise KbNotFound(kb_id=kb_id, legal=known)
        return path

    def _upgraded(self, kb_id: str) -> Path:
        """Bring a KB of format 1 up to date, and return the folder of the KB."""
        folder = self._root / kb_id
        head, version = self._head(kb_id)
        if version is None:
            return folder
        try:
            texts = format_1.texts_of(format_1.read_text(folder), version)
        except _ERRORS as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        documents = self._put(folder, [NewDocument(*item) for item in texts.items()], head.added_at)
        named = {one.sha256: texts[one.path].text for one in documents}
        text, files = joined(documents, named, version.chars)
        chunks = self.chunked(_titled(kb_id, text, files), files)
        now = replace(version_of(documents, text, files, version.chars, chunks), kb_truncated=version.kb_truncated)
        self._files.put_version(folder, now)
        self._write_head(replace(head, history=(entry_of(1, now, None, head.added_at, "created", ""),)))
        for name in (format_1.SOURCE, format_1.FILES):
            (folder / name).unlink(missing_ok=True)
        return folder

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

    def _head_bytes(self, kb_id: str) -> bytes:
        with suppress(OSError):
            return (self._root / kb_id / _HEAD).read_bytes()
        return b""

    def _write_head(self, head: Head) -> None:
        write_json(self._root / head.kb_id / _HEAD, {VERSION: KNOWLEDGE_BASE, **asdict(head)})

    def _put_back(self, kb_id: str, before: bytes) -> None:
        """Give a KB the head that it had; b"" for a KB that is new, whose folder goes."""
        folder = self._root / kb_id
        if before:
            write_atomically(folder / _HEAD, before)
            return
        # The head goes first: after a crash, what is left is not listed.
        (folder / _HEAD).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        self._files.forget(folder)


def _titled(kb_id: str, text: str, files: Sequence[KbFile]) -> Document:
    # The first file's name: the title is indexed, and a new name of the KB must not change the index.
    return Document(doc_id=kb_id, title=Path(files[0].name).stem, text=text)


def _chars(chunks: ChunkedFiles) -> int:
    return chunks[-1].end if chunks else 0


def documents_of(new: Sequence[NewDocument]) -> tuple[KbDocument, ...]:
    """Return new documents as a version has them. Nothing is written."""
    at = utc_now()
    return tuple(
        _document(one, hashlib.sha256(one.original).hexdigest() if one.original is not None else "", at)
        for one in map(_new, new)
    )


def _new(file: NewDocument | tuple[str, ParsedText]) -> NewDocument:
    """Return a document with a clean path and a text that UTF-8 can encode."""
    one = file if isinstance(file, NewDocument) else NewDocument(*file)
    parsed = replace(one.parsed, text=in_utf8(one.parsed.text).decode())
    return replace(one, path=clean_path(one.path) or one.path, parsed=parsed)


def _document(new: NewDocument, original: str, at: str) -> KbDocument:
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
        updated_at=at,
        **new.about,
    )
