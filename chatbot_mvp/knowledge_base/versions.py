"""What a knowledge base is made of: documents, immutable versions of their list, and the history of the versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.documents.kb_files import KbFile, join_sources, text_hash
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.storage.formats import complete
from chatbot_mvp.text import detect_language

KEPT = 20
"""Versions that stay although nothing refers to them: the newest ones."""
RENAMED = "renamed"
_DIGITS = 24


@dataclass(frozen=True)
class KbDocument:
    """A document of a knowledge base, as one version has it. Its text and its original are named by their content."""

    path: str
    """Name with its folders ("rrhh/vacaciones.md"), unique within a version."""
    sha256: str
    """SHA-256 of its parsed text in UTF-8, in hex."""
    original: str
    """SHA-256 of the file as it was uploaded, in hex; "" if it is not kept."""
    bytes: int
    """Size of that file; 0 if it is not kept."""
    encoding: str
    """As in ``ParsedText``, like the next four."""
    original_chars: int
    kb_truncated: bool
    page_starts: tuple[int, ...]
    empty_pages: int
    updated_at: str
    """When this content came under this path, ISO 8601, UTC."""
    title: str = ""
    author: str = ""
    source: str = ""
    """Address that it comes from; "" if nobody said one."""
    created: str = ""
    """Day that the document itself bears, ISO 8601; "" if nobody said one."""
    tags: tuple[str, ...] = ()
    lost: tuple[tuple[str, int], ...] = ()
    """What of the file is not in the text, as in ``ParsedText``, in the order of its names."""
    reader: str = ""
    """What read it; "" for a text file, and for what was read before this was kept."""

    @property
    def identity(self) -> str:
        """As ``identity_of`` gives it."""
        return identity_of(self.path, self.sha256)

    @property
    def folder(self) -> str:
        """The folders of its path, "" for none."""
        return self.path.rpartition("/")[0]

    def parsed(self, text: str) -> ParsedText:
        """Return its text as it was parsed."""
        sizes = self.original_chars, self.kb_truncated, self.page_starts, self.empty_pages
        return ParsedText(text, self.encoding, *sizes, dict(self.lost), self.reader)


@dataclass(frozen=True)
class NewDocument:
    """A document on its way into a knowledge base."""

    path: str
    parsed: ParsedText
    original: bytes | None = None
    """The file as it was uploaded; None if it shall not be kept."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Values of the fields of ``KbDocument`` from ``title`` on; "" and () clear those of the document it replaces."""


@dataclass(frozen=True)
class Version:
    """An immutable list of documents, and the facts of the text that they make."""

    version_id: str
    """Hash of the documents and of the limit of their text: 24 hex digits."""
    documents: tuple[KbDocument, ...]
    files: tuple[KbFile, ...]
    """Where each document is in the text; documents beyond the limit of characters are not."""
    language: str
    languages: tuple[str, ...]
    chars: int
    original_chars: int
    kb_truncated: bool
    sha256: str
    """SHA-256 of the text in UTF-8, in hex."""
    chunks: int
    """Number of chunks of the text."""
    max_chars: int
    """Limit of the text in characters."""

    @property
    def content(self) -> tuple[object, ...]:
        """What of it is searched and cited: equal content is the same knowledge, whenever it came."""
        return (self.sha256, self.files)

    def as_json(self) -> dict[str, Any]:
        # Its parts are flat, so that ``asdict``, which copies every value, is not needed: it takes 0.1 s of 1,000.
        return {**vars(self), "documents": list(map(vars, self.documents)), "files": list(map(vars, self.files))}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Version:
        """Raises ValueError, TypeError or KeyError: something is missing or of another type."""
        read = complete(found, Version)
        documents = tuple(document_of(row) for row in read["documents"])
        if not documents:
            raise ValueError("documents: it names no document")
        return Version(
            **{
                **read,
                "documents": documents,
                "files": tuple(file_of(row) for row in read["files"]),
                "languages": tuple(read["languages"]),
            }
        )


@dataclass(frozen=True)
class Entry:
    """One step in the history of a knowledge base: from here on, this version was the current one."""

    number: int
    """From 1, one more with each step but RENAMED: the version's name for people."""
    version_id: str
    at: str
    """ISO 8601, UTC."""
    what: str
    """"created", "changed", "restored", "published", "merged", "purged" or RENAMED, whose note is the name."""
    added: int = 0
    """Documents that came; ``changed``: got other content or metadata; ``removed``: went."""
    changed: int = 0
    removed: int = 0
    note: str = ""
    """What whoever did it wrote about it."""


@dataclass(frozen=True)
class Staged:
    """A version that waits: it can be asked and measured, and becomes the current one when it is published."""

    version_id: str
    base: str
    """Id of the version that it was made from."""
    at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True)
class Head:
    """The only part of a knowledge base that changes: its name and which version is the current one."""

    kb_id: str
    kb_name: str
    added_at: str
    """Time of the last upload, ISO 8601, UTC."""
    history: tuple[Entry, ...]
    """At least one; the last one's version is the current one."""
    staged: Staged | None = None
    purged: tuple[str, ...] = ()
    """``KbDocument.identity`` of what was purged, sorted: none of it becomes current again."""

    @property
    def current(self) -> Entry:
        return self.history[-1]

    def entry(self, name: str) -> Entry | None:
        """Return the last entry with this number or version id; None if there is none."""
        return next((one for one in reversed(self.history) if name in (str(one.number), one.version_id)), None)

    def moved(self, version: Version, before: Version | None, at: str, what: str, note: str = "") -> Head:
        """Return the head after one more step to ``version``; ``before`` is the version that was current."""
        number = self.history[-1].number + (what != RENAMED) if self.history else 1
        return replace(self, history=(*self.history, entry_of(number, version, before, at, what, note)))

    @staticmethod
    def from_json(found: Mapping[str, Any], kb_id: str) -> Head:
        """Raises ValueError, TypeError or KeyError: something is missing or of another type."""
        read = complete({"purged": (), **found}, Head)
        history = tuple(Entry(**complete(row, Entry)) for row in read["history"])
        if not history:
            raise ValueError("history: it names no version")
        staged = Staged(**complete(read["staged"], Staged)) if read["staged"] else None
        return Head(kb_id, read["kb_name"], read["added_at"], history, staged, tuple(map(str, read["purged"])))


def identity_of(path: str, sha256: str) -> str:
    """Return the hash of path and text of a document: tells that it was purged without telling what it was."""
    return text_hash(f"{path}\n{sha256}")


def entry_of(number: int, version: Version, before: Version | None, at: str, what: str, note: str) -> Entry:
    """Return the entry of a step from one version to another."""
    now = {document.path: document for document in version.documents}
    old = {document.path: document for document in before.documents} if before else {}
    changed = sum(path in old and old[path] != document for path, document in now.items())
    added, removed = len(now.keys() - old.keys()), len(old.keys() - now.keys())
    return Entry(number, version.version_id, at, what, added, changed, removed, note)


def document_of(row: Mapping[str, Any]) -> KbDocument:
    # What was read before losses and readers were told has neither.
    read = complete({"lost": (), "reader": "", **row}, KbDocument)
    lost = tuple((str(name), int(count)) for name, count in read["lost"])
    tuples = {"page_starts": tuple(read["page_starts"]), "tags": tuple(read["tags"]), "lost": lost}
    return KbDocument(**{**read, **tuples})


def file_of(row: Mapping[str, Any]) -> KbFile:
    return KbFile(**{**complete(row, KbFile), "page_starts": tuple(row["page_starts"])})


def joined(documents: Sequence[KbDocument], texts: Mapping[str, str], max_chars: int) -> tuple[str, tuple[KbFile, ...]]:
    """Return the text of a version and where each document is in it, as ``join_sources``.

    Args:
        texts: SHA-256 of a parsed text -> the text.
    """
    return join_sources([(one.path, one.parsed(texts[one.sha256])) for one in documents], max_chars)


def version_of(
    documents: Sequence[KbDocument], text: str, files: Sequence[KbFile], max_chars: int, chunks: ChunkedFiles
) -> Version:
    """Return the version of these documents.

    Args:
        text, files: as ``joined`` gives them.
        max_chars: limit of the text in characters.
        chunks: those of the text, of the usual length.
    """
    language = detect_language(text)
    version = Version(
        version_id="",
        documents=(),
        files=tuple(files),
        language=language,
        languages=chunks.languages(language),
        chars=len(text),
        original_chars=max(len(text), sum(one.original_chars for one in documents)),
        kb_truncated=len(files) < len(documents) or any(file.cut for file in files),
        sha256=text_hash(text),
        chunks=len(chunks),
        max_chars=max_chars,
    )
    return with_documents(version, documents)


def with_documents(version: Version, documents: Sequence[KbDocument]) -> Version:
    """Return the version of documents that have the texts of ``version``."""
    limit = version.max_chars if version.kb_truncated else 0
    digest = text_hash(json.dumps([*map(vars, documents), limit]))
    return replace(version, version_id=digest[:_DIGITS], documents=tuple(documents))
