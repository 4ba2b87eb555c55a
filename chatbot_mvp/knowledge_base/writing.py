"""Write the files of knowledge bases: one thread of one process at a time, and one change of each at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from chatbot_mvp.documents.chunking import split_sections
from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.documents.names import clean_name, clean_path
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import KbNotWritten
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.changes import about_of
from chatbot_mvp.knowledge_base.heads import ERRORS, unreadable, write_head
from chatbot_mvp.knowledge_base.reading import KbReader, titled
from chatbot_mvp.knowledge_base.suggestions import GENERIC
from chatbot_mvp.knowledge_base.version_files import sync_all, synced
from chatbot_mvp.knowledge_base.versions import (
    Head,
    KbDocument,
    NewDocument,
    Version,
    entry_of,
    joined,
    version_of,
)
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import in_utf8, make_folder
from chatbot_mvp.text import detect_language, fold

_HEAD_CHARS, _MOST_TITLE = 1_000, 80
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*[.)]|\d+(?:\.\d+)+|[IVX]+[.)])\s+")
"""What numbers a heading: "1. ", "2.3 ", "IV) "."""
_WAIT_S = 0.05
"""So often whoever waits for another change looks whether to stop."""


class KbWriter(KbReader):
    """Writes heads, versions, texts and originals. Args and errors are those of ``KbReader``.

    Every write is done by one thread of one process at a time, and so is every change of a KB (``changing``).
    """

    @contextmanager
    def changing(self, kb_id: str, waits: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Let one thread of one process change a KB, from the first file that it writes to the publication.

        Nobody else collects what is written meanwhile, and nobody else's version becomes current. Readers do not wait.
        The system frees the lock when its process dies. A thread that holds it may enter again.

        Args:
            waits: called while another one changes the KB; may raise to stop waiting.

        Raises:
            KbNotFound, KbNotWritten
        """
        self._path(kb_id)
        # The file stays when the KB is deleted: its name does not tell the id.
        lock = FileLock(self._root / f".{text_hash(kb_id)[:24]}.lock", is_singleton=True)
        try:
            while True:
                try:
                    lock.acquire(timeout=_WAIT_S, poll_interval=_WAIT_S)
                    break
                except Timeout:
                    waits()
        except OSError as error:
            raise KbNotWritten(name=kb_id, path=str(self._root), reason=error.strerror or str(error)) from error
        try:
            yield
        finally:
            lock.release()

    def upgrade(self, kb_id: str) -> None:
        """Bring a KB of format 1 up to date, before its documents are changed."""
        if self._head(kb_id)[1] is not None:
            with self._writing(kb_id):
                self._upgraded(kb_id)

    # --- parts

    def _versions_of(self, kb_id: str) -> list[Version]:
        """Return the versions that can be read."""
        found = []
        for version_id in self._files.version_ids(self._root / kb_id):
            with suppress(*ERRORS):
                found.append(self._files.version(self._root / kb_id, version_id))
        return found

    def _written(self, kb_id: str, folder: Path, documents: Sequence[KbDocument], max_chars: int) -> Version:
        try:
            text, files = joined(documents, self._files.texts(folder, documents), max_chars)
        except ERRORS as error:
            raise unreadable(kb_id, error) from error
        version = version_of(documents, text, files, max_chars, self.chunked(titled(kb_id, text, files), files))
        self._files.put_version(folder, version)
        self._joined.put((kb_id, version.version_id), text)
        return version

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
            raise unreadable(kb_id, error) from error
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
        write_head(self._root / head.kb_id, head)

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


def usual_name(files: Sequence[NewDocument]) -> str:
    """Return what a KB is called to which nobody gave a name.

    Its only file says so, or the folder that has all of its files, or else the title of the first one and how many
    there are besides, in its language. A title in capitals or with a number, or of general words, is none: "ORDEN DEL
    DÍA", "1. Cuentas". Then the file's name says it.
    """
    first = files[0]
    if len(files) == 1:
        return first.path
    folders = {one.path.partition("/")[0] if "/" in one.path else "" for one in files}
    if len(folders) == 1 and "" not in folders:
        return folders.pop()
    headings = (
        one.path.partition(" > ")[0] for one in split_sections(first.parsed.text[:_HEAD_CHARS], has_title=False)
    )
    titles = [str(first.about.get("title") or ""), next(filter(None, headings), "")]
    titles = [one for one in titles if not (one.isupper() or _NUMBER.match(one))]
    titles = [one for one in titles if not GENERIC.issuperset(fold(one).split())]
    titles += [re.sub(r"[_-]+", " ", PurePosixPath(first.path).stem), first.path]
    title = next(filter(None, (clean_name(one)[:_MOST_TITLE].strip() for one in titles)))
    others = "and {} more" if detect_language(first.parsed.text) == "en" else "y {} más"
    return f"{title} {others.format(len(files) - 1)}"


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
        **{**about_of(**parsed.about), **new.about},
    )
