"""Store knowledge bases on disk, each in a folder with its source text, its list of files and its record."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.languages import languages_of
from chatbot_mvp.documents.names import clean_file_name, clean_name
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.documents.sources import KbFile, join_sources, text_hash
from chatbot_mvp.errors import FileOfLaterVersion, KbNotFound, KbNotWritten, KbUnreadable, UploadError
from chatbot_mvp.knowledge_base.identity import possible_ids
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, write_atomically, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION, IncompleteFile, complete, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.text import detect_language
from chatbot_mvp.types import Document

_FILES = ("source.txt", "files.json", "kb.json")


class KbStore:
    """Reads and writes ``<root>/<kb_id>/source.txt``, ``files.json`` and ``kb.json``.

    The id is made from the first file's name and the content. An equal upload gives the same KB, which keeps its name;
    other content never replaces a KB, whatever its id. Safe for threads and processes.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, name: str, content: bytes, max_chars: int, max_mb: int, max_pages: int = 3_000) -> KbRecord:
        """Parse and store one uploaded file. It becomes the newest KB.

        Raises:
            UploadError, MissingPackage: the file cannot be read; existing KBs are unchanged.
        """
        parsed = parse_upload(name, content, max_chars, max_mb, max_pages)
        return self.keep([(clean_file_name(name), parsed)], max_chars)

    def keep(self, files: Sequence[tuple[str, ParsedText]], max_chars: int, kb_name: str = "") -> KbRecord:
        """Keep parsed files as one KB, as ``keeping`` does.

        Raises:
            UploadError (upload_empty): there is no text.
        """
        with self.keeping(files, max_chars, kb_name) as record:
            return record

    @contextmanager
    def keeping(self, files: Sequence[tuple[str, ParsedText]], max_chars: int, kb_name: str = "") -> Iterator[KbRecord]:
        """Store parsed files as one KB, which becomes the newest. If the block fails, the KB is again as it was before.

        If the same files are stored already, their KB keeps its name, and only its time changes.

        Args:
            files: (file name, parsed text), at least one.
            max_chars: limit of the joined text in characters.
            kb_name: by default the first file's name and the number of further files.

        Raises:
            UploadError (upload_empty): the files have no text.
            KbNotWritten: the disk is full or refuses to write.
        """
        first = files[0][0]
        text, kept = join_sources(files, max_chars)
        if not kept:
            raise UploadError("upload_empty", name=first)
        language = detect_language(text)
        chunks = chunk_document(Document("", Path(first).stem, text))
        record = KbRecord(
            kb_id="",
            kb_name=clean_name(kb_name) or (first if len(files) == 1 else f"{first} +{len(files) - 1}"),
            language=language,
            chars=len(text),
            original_chars=max(len(text), sum(parsed.original_chars for _, parsed in files)),
            kb_truncated=len(kept) < len(files) or any(file.cut for file in kept),
            encoding=files[0][1].encoding,
            sha256=text_hash(text),
            added_at=utc_now(),
            files=tuple(file.name for file in kept),
            chunks=len(chunks),
            languages=languages_of(chunks, language),
        )
        with self._writing(record.kb_name):
            record, before = self._write(record, text, kept)
            written = self._record_bytes(record.kb_id)
        try:
            yield record
        except BaseException:
            with self._writing(record.kb_name):
                # Another upload of the same content has written its own time: the knowledge base is theirs too.
                if self._record_bytes(record.kb_id) == written:
                    _put_back(self._root / record.kb_id, before)
            raise

    def _write(
        self, record: KbRecord, text: str, kept: Sequence[KbFile]
    ) -> tuple[KbRecord, Mapping[str, bytes] | None]:
        """Write a KB under the first of its ids that no other content has. Equal content keeps its name and files.

        Returns:
            The record as written, and the files that the KB had before; None for a KB that is new.
        """
        kb_id, known = self._place(record.sha256, kept)
        folder = self._root / kb_id
        if known is not None:
            record = replace(known, added_at=record.added_at)
        record = replace(record, kb_id=kb_id)
        before = _contents(folder) if folder.is_dir() else None
        try:
            make_folder(folder)
            if known is None or self._text_hash(kb_id) != record.sha256:
                # Write kb.json last: a folder without it is not listed, so a crash leaves no incomplete KB in the list.
                write_atomically(folder / "source.txt", text)
                write_atomically(folder / "files.json", json.dumps([asdict(file) for file in kept], ensure_ascii=False))
            self._write_record(record)
        except BaseException:
            _put_back(folder, before)
            raise
        return record, before

    def _place(self, sha256: str, kept: Sequence[KbFile]) -> tuple[str, KbRecord | None]:
        """Return the id for a content, and its record if it is stored already and its record can be read."""
        ids = possible_ids(sha256, kept)
        for kb_id in ids:
            try:
                record = self.record(kb_id)
                files = self.files(kb_id)
            except KbNotFound:
                continue
            except KbUnreadable:
                if self._text_hash(kb_id) == sha256:
                    return kb_id, None
                continue
            if record.sha256 == sha256 and files == tuple(kept):
                return kb_id, record
        free = next((kb_id for kb_id in ids if not (self._root / kb_id / "kb.json").exists()), None)
        if free is None:
            raise KbNotWritten(name=kept[0].name, path=str(self._root / ids[-1]), reason="other content has its id")
        return free, None

    def rename(self, kb_id: str, kb_name: str) -> KbRecord:
        """Give a KB another name. Its id stays, so its index and conversations remain valid.

        Raises:
            KbNotFound, KbUnreadable
        """
        with self._writing(kb_name):
            record = replace(self.record(kb_id), kb_name=kb_name)
            self._write_record(record)
        return record

    def recount(self, kb_id: str) -> None:
        """Count chunks and languages again, since another version of the program may count them otherwise.

        Raises:
            KbNotFound, KbUnreadable
        """
        chunks = chunk_document(self.document(kb_id))
        with self._writing(kb_id):
            record = self.record(kb_id)
            languages = languages_of(chunks, record.language)
            self._write_record(replace(record, chunks=len(chunks), languages=languages))

    def files(self, kb_id: str) -> tuple[KbFile, ...]:
        """Return the files of a KB in order.

        Raises:
            KbNotFound, KbUnreadable
        """
        self.record(kb_id)
        try:
            rows = [complete(row, KbFile) for row in parse_json((self._root / kb_id / "files.json").read_bytes())]
            return tuple(KbFile(**{**row, "page_starts": tuple(row["page_starts"])}) for row in rows)
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def records(self) -> list[KbRecord]:
        """Return the records of all readable KBs, newest first."""
        found = []
        for path in self._root.glob("*/kb.json"):
            try:
                found.append(self.record(path.parent.name))
            except (KbNotFound, KbUnreadable):
                continue
        return sorted(found, key=lambda record: (record.added_at, record.kb_id), reverse=True)

    def record(self, kb_id: str) -> KbRecord:
        """Read the record of a KB.

        Raises:
            KbNotFound: there is no KB with this id.
            KbUnreadable: its record is damaged.
        """
        path = self._root / kb_id / "kb.json"
        if not re.fullmatch(r"[a-z0-9-]+", kb_id) or not path.is_file():
            known = ", ".join(sorted(p.parent.name for p in self._root.glob("*/kb.json"))) or "-"
            raise KbNotFound(kb_id=kb_id, legal=known)
        try:
            read = complete(known_version(parse_json(path.read_bytes()), path, KNOWLEDGE_BASE), KbRecord)
            lists = {name: tuple(read[name]) for name in ("files", "languages")}
            if not lists["files"]:
                raise IncompleteFile("files: it names no file")
            return KbRecord(**{**read, "kb_id": kb_id, **lists})
        except (ValueError, TypeError, KeyError, AttributeError, OSError, FileOfLaterVersion) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def document(self, kb_id: str) -> Document:
        """Return the KB's text as one document.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self.record(kb_id)
        try:
            # newline="" disables the platform's translation of line ends, so that stored offsets stay valid.
            with (self._root / kb_id / "source.txt").open(encoding="utf-8", newline="") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        # Use the first file's name: the title is indexed, and a new KB name must not change the index.
        title = Path(record.files[0]).stem
        return Document(doc_id=kb_id, title=title, text=text, source=record.kb_name)

    def delete(self, kb_id: str) -> None:
        """Delete a KB and its folder.

        Raises:
            KbNotFound: there is no KB with this id.
        """
        with self._writing(kb_id):
            self.record(kb_id)
            # Delete the record first: after a crash, what is left is not listed.
            (self._root / kb_id / "kb.json").unlink()
            shutil.rmtree(self._root / kb_id)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Let one thread of one process write at a time.

        Raises:
            KbNotWritten: the folder cannot be written.
        """
        try:
            make_folder(self._root)
            with FileLock(self._root / ".lock"):
                yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise KbNotWritten(name=name, path=str(self._root), reason=reason) from error

    def _text_hash(self, kb_id: str) -> str:
        """Return the hash of a KB's text; "" if it cannot be read."""
        try:
            return text_hash((self._root / kb_id / "source.txt").read_bytes().decode())
        except (OSError, UnicodeDecodeError):
            return ""

    def _record_bytes(self, kb_id: str) -> bytes:
        with suppress(OSError):
            return (self._root / kb_id / "kb.json").read_bytes()
        return b""

    def _write_record(self, record: KbRecord) -> None:
        write_json(self._root / record.kb_id / "kb.json", {VERSION: KNOWLEDGE_BASE, **asdict(record)})


def _contents(folder: Path) -> dict[str, bytes]:
    """A KB's files by name, as far as they are there."""
    return {name: (folder / name).read_bytes() for name in _FILES if (folder / name).is_file()}


def _put_back(folder: Path, before: Mapping[str, bytes] | None) -> None:
    """Give a KB the files that it had; None for a KB that is new, whose folder goes."""
    if "kb.json" not in (before or ()):
        # The record goes first: after a crash, what is left is not listed.
        (folder / "kb.json").unlink(missing_ok=True)
    if before is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    now = _contents(folder)
    for name in _FILES:
        if name not in before:
            (folder / name).unlink(missing_ok=True)
        elif now.get(name) != before[name]:
            write_atomically(folder / name, before[name])
