"""Knowledge bases on disk: made, named and deleted, besides what their readers and their versions are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.documents.names import clean_file_name, clean_name
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.errors import (
    FileOfLaterVersion,
    KbChangeError,
    KbNotFound,
    KbNotWritten,
    KbUnreadable,
    UploadError,
)
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.heads import COPY, ERRORS, HEAD
from chatbot_mvp.knowledge_base.reading import titled
from chatbot_mvp.knowledge_base.record import KbRecord, possible_ids
from chatbot_mvp.knowledge_base.versioning import KbVersions
from chatbot_mvp.knowledge_base.versions import (
    RENAMED,
    Head,
    NewDocument,
    Version,
    entry_of,
    joined,
    version_of,
    with_documents,
)
from chatbot_mvp.knowledge_base.writing import cleaned, described, usual_name
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, write_atomically


class KbStore(KbVersions):
    """Reads and writes ``<root>/<kb_id>/``: ``kb.json`` (the head) and the files of ``VersionFiles``.

    The id is made from the first file's name and the content. An equal upload gives the same KB as long as its current
    version is that content, and it keeps its name; other content never replaces a KB. Safe for threads and processes:
    a reader sees the version before a change or the one after it, and whatever ends a change early leaves the one
    before.

    Every method that takes an id raises ``KbNotFound`` if there is no such KB, and ``KbUnreadable`` if what it reads
    of the KB is damaged. Where a version can be named, it is by its number or its id; "" is the current one, and one
    that is not kept raises ``KbChangeError`` (kb_version_not_found).
    """

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
        self,
        files: Sequence[NewDocument | tuple[str, ParsedText]],
        max_chars: int,
        kb_name: str = "",
        unique: bool = False,
    ) -> Iterator[KbRecord]:
        """Store parsed files as one KB, which becomes the newest. If the block fails, the KB is again as it was before.

        If the same files are stored already, their KB keeps its name, and only its time changes.

        Args:
            files: at least one; (path, parsed text) for one whose original is not kept. The order of their paths is
                that of the text.
            max_chars: limit of the joined text in characters.
            kb_name: by default as ``usual_name`` gives it, which others may have too.
            unique: whether no other KB may have the name ``kb_name``.

        Raises:
            UploadError (upload_empty): the files have no text.
            KbChangeError (kb_name_taken): another KB has it.
            KbNotWritten: the disk is full or refuses to write.
        """
        given = [cleaned(file) for file in files]
        new = sorted(given, key=lambda one: one.path)
        if not any(one.parsed.text.strip() for one in new):
            raise UploadError("upload_empty", name=given[0].path)
        chosen = clean_name(kb_name)
        name = chosen or usual_name(given)
        with self._writing(name):
            kb_id, before = self._create(new, max_chars, name, unique and bool(chosen))
            written = self._head_bytes(kb_id)
        try:
            yield self.record(kb_id)
        except BaseException:
            with self._writing(name):
                # Another upload of the same content has written its own time: the KB is theirs too.
                if self._head_bytes(kb_id) == written:
                    self._put_back(kb_id, before)
            raise

    def rename(self, kb_id: str, kb_name: str) -> KbRecord:
        """Give a KB another name. Its id stays, so its index and conversations remain valid.

        Raises:
            KbChangeError (kb_name_taken): another KB has it.
        """
        with self._writing(kb_name):
            self.require_free_name(kb_name, kb_id)
            self._upgraded(kb_id)
            head, now = self._open(kb_id)
            if kb_name != head.kb_name:
                self._write_head(replace(head.moved(now, now, utc_now(), RENAMED, kb_name), kb_name=kb_name))
        return self.record(kb_id)

    def require_free_name(self, kb_name: str, kb_id: str = "") -> None:
        """Check that no KB but ``kb_id`` has a name, so that a name that people choose says which one is meant.

        Raises:
            KbChangeError (kb_name_taken)
        """
        for record in self.records():
            if record.kb_name == kb_name and record.kb_id != kb_id:
                raise KbChangeError("kb_name_taken", name=kb_name, kb_id=record.kb_id)

    def recount(self, kb_id: str) -> None:
        """Count chunks and languages again, since another version of the program may count them otherwise."""
        with self._writing(kb_id):
            folder = self._upgraded(kb_id)
            _, now = self._open(kb_id)
            text = self._text(kb_id, self.record(kb_id))
            if lost := self.lost(kb_id):
                raise KbUnreadable("kb_unreadable", kb_id=kb_id, reason=", ".join(lost))
            chunks = self.chunked(titled(kb_id, text, now.files), now.files)
            self._files.put_version(folder, version_of(now.documents, text, now.files, now.max_chars, chunks))

    def delete(self, kb_id: str, aside: Path | None = None) -> None:
        """Delete a KB and its folder.

        Args:
            aside: where to move the folder instead; on the same disk.

        Raises:
            KbNotFound: there is no KB with this id.
        """
        folder = self._root / kb_id
        with self._writing(kb_id):
            self._path(kb_id)
            if aside is not None:
                make_folder(aside)
                shutil.rmtree(aside / kb_id, ignore_errors=True)
                os.utime(folder)  # tells when it was deleted
                folder.rename(aside / kb_id)
            else:
                # Delete the head first: after a crash, what is left is not listed.
                (folder / HEAD).unlink()
                shutil.rmtree(folder)
        self._files.forget(folder)
        self._joined.drop(lambda key: key[0] == kb_id)
        self._chunked.drop(lambda key: key[0] == kb_id)

    def take_back(self, kb_id: str, aside: Path) -> KbRecord:
        """Bring back a KB that was moved to ``aside``, as the newest.

        Raises:
            KbNotFound: it is not there.
            KbChangeError (kb_name_taken): what it holds was added again meanwhile.
        """
        with self._writing(kb_id):
            if not (aside / kb_id / HEAD).is_file():
                raise KbNotFound(kb_id=kb_id, legal=", ".join(one.kb_id for one in KbStore(aside).records()))
            if (self._root / kb_id / HEAD).exists():
                raise KbChangeError("kb_name_taken", name=self.record(kb_id).kb_name, kb_id=kb_id)
            shutil.rmtree(self._root / kb_id, ignore_errors=True)
            (aside / kb_id).rename(self._root / kb_id)
            # Where folders are shared, a deletion is of what was added by then.
            self._write_head(replace(self._head(kb_id)[0], added_at=utc_now()))
        return self.record(kb_id)

    # --- parts

    def _create(self, new: Sequence[NewDocument], max_chars: int, name: str, unique: bool) -> tuple[str, bytes]:
        """Write a KB under the first of its ids that no other content has; return its id and the head before.

        Args:
            unique: whether no other KB may have the name.
        """
        texts = {text_hash(one.parsed.text): one.parsed.text for one in new}
        at = utc_now()
        plain = tuple(described(one, "", at) for one in new)
        text, files = joined(plain, texts, max_chars)
        version = version_of(plain, text, files, max_chars, self.chunked(titled("", text, files), files))
        kb_id, head = self._place(version)
        if unique and head is None:
            self.require_free_name(name, kb_id)
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
            purged = head.purged if head else ()
            self._write_head(Head(kb_id, head.kb_name if head else name, at, (entry,), None, purged))
        except BaseException:
            self._put_back(kb_id, before)
            raise
        return kb_id, before

    def _place(self, version: Version) -> tuple[str, Head | None]:
        """Return the id for a content, and the head that is there if it is a KB of that content."""
        ids = possible_ids(version.sha256, version.files)
        for kb_id in (*ids, *(f"{ids[-1]}-{number}" for number in range(2, 1_000))):
            if not (self._root / kb_id / HEAD).exists():
                return kb_id, None
            try:
                head, known = self._open(kb_id)
                if known.content == version.content:
                    return kb_id, head
            except (KbNotFound, KbUnreadable) as error:
                # What a later version of this program wrote is whole, and stays as it is.
                if not isinstance(error.__cause__, FileOfLaterVersion) and self._had(kb_id, version):
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
            with suppress(*ERRORS):
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
        return not self.lost(kb_id)

    def _put_back(self, kb_id: str, before: bytes) -> None:
        """Give a KB the head that it had; b"" for a KB that is new, whose folder goes."""
        folder = self._root / kb_id
        if before:
            for name in (HEAD, COPY):
                write_atomically(folder / name, before)
            return
        # The head goes first: after a crash, what is left is not listed.
        (folder / HEAD).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        self._files.forget(folder)
