"""Purge documents: from every version of a knowledge base, and from everything that quotes them.

A file in the knowledge base's folder says which documents a purge is about until it is done. Every step can be done
again, and the documents themselves go last, so that a purge that was killed is continued from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.errors import KbNotFound, KbUnreadable
from chatbot_mvp.knowledge_base.changes import document_not_found
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.places import purged_mark
from chatbot_mvp.knowledge_base.purged_files import purge_caches, purge_files
from chatbot_mvp.knowledge_base.purged_text import Purged, PurgedText
from chatbot_mvp.knowledge_base.versions import KbDocument, Version
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

UNDER_WAY = "purge.json"
"""In the folder of a knowledge base: the paths of a purge that is not done."""

Eraser = Callable[[Purged], int]
"""Takes purged text out of the files of one part of the program, and returns how many changed. Can be done again.

Raises OSError if a file cannot be written."""


@dataclass(frozen=True)
class PurgeReport:
    """What a purge took out."""

    kb_id: str
    paths: tuple[str, ...]
    """Every path that one of the documents has had in a version."""
    versions: int
    """Versions that had one of them."""
    files: int
    """Files of conversations, question sets, labels, runs, jobs and logs that were rewritten."""
    cached: int
    """Rows of caches that were deleted."""


@dataclass(frozen=True)
class Doomed:
    """The documents that a purge is about, in all versions."""

    paths: frozenset[str]
    texts: frozenset[str]
    """SHA-256 of their texts."""
    originals: frozenset[str]

    def has(self, document: KbDocument) -> bool:
        """Return whether a document is one of them."""
        return document.sha256 in self.texts or bool(document.original and document.original in self.originals)


def doomed(versions: Sequence[Version], paths: Collection[str]) -> Doomed:
    """Return the documents under these paths in any version, wherever they were before they moved there.

    Args:
        versions: the newest first.
        paths: paths of documents, or of folders ("rrhh/").
    """
    named, found = set(paths), list[KbDocument]()
    tracked: dict[str, KbDocument] = {}
    for version in versions:
        here = {one.path: one for one in version.documents}
        moved = {one.sha256 for path, one in tracked.items() if path not in here}
        now = {path: one for path, one in here.items() if path in tracked or one.sha256 in moved or _named(path, named)}
        found += now.values()
        tracked = {**tracked, **now}
    texts, originals = {one.sha256 for one in found}, {one.original for one in found if one.original}
    whole = Doomed(frozenset(), frozenset(texts), frozenset(originals))
    had = {one.path for version in versions for one in version.documents if whole.has(one)}
    return Doomed(frozenset(had), whole.texts, whole.originals)


def _named(path: str, named: Collection[str]) -> bool:
    return path in named or any(folder.endswith("/") and path.startswith(folder) for folder in named)


class Purges:
    """Purges documents of knowledge bases, beside ``KbChanges``."""

    def __init__(self, kbs: KnowledgeBases, erasers: Sequence[Eraser], folders: Sequence[Path]) -> None:
        """
        Args:
            erasers: one for each part that keeps quotations; may grow later.
            folders: folders whose SQLite files are caches.
        """
        self._kbs = kbs
        self._store = kbs.store
        self._erasers = erasers
        self._folders = folders

    def begin(self, kb_id: str, paths: Collection[str]) -> Doomed:
        """Write down that a purge is under way, and return its documents with those of one that was not finished.

        Raises:
            KbChangeError (kb_document_not_found): no version has a document under one of the paths.
            KbNotFound, KbUnreadable, OSError
        """
        self._store.upgrade(kb_id)
        versions = self._versions(kb_id)
        before = self.under_way(kb_id)
        for path in paths:
            if path not in before and not doomed(versions, [path]).texts:
                raise document_not_found(kb_id, path, {one.path for each in versions for one in each.documents})
        wanted = sorted({*paths, *before})
        write_json(self._path(kb_id), {VERSION: KNOWLEDGE_BASE, "paths": wanted})
        return doomed(versions, wanted)

    def under_way(self, kb_id: str) -> tuple[str, ...]:
        """Return the paths of a purge that was not finished."""
        with suppress(OSError, ValueError, KeyError, TypeError, InvalidJson):
            return tuple(str(path) for path in parse_json(self._path(kb_id).read_bytes())["paths"])
        return ()

    def cancel(self, kb_id: str) -> None:
        """Forget that a purge is under way."""
        self._path(kb_id).unlink(missing_ok=True)

    def finish(self, kb_id: str, gone: Doomed) -> PurgeReport:
        """Take the documents, which the current version no longer has, out of everything.

        Raises:
            OSError, CacheUnusable, ConfigurationError: something could not be changed; begin again.
        """
        versions = self._versions(kb_id)
        having = [one for one in versions if any(map(gone.has, one.documents))]
        purged = self._purged(kb_id, versions, gone)
        folder = self._store.folder(kb_id)
        own = (path for path in folder.rglob("*.json*") if path.parent.name != "versions" and _rewritable(path))
        files = purge_files(sorted(own), purged) + sum(erase(purged) for erase in self._erasers)
        self._kbs.parsed.clear()
        for version in having:
            with suppress(KbUnreadable):
                self._kbs.forget_index(kb_id, version.version_id)
        cached = sum(purge_caches(one, purged) for one in self._folders if one.is_dir())
        self._store.purge(kb_id, gone.has)
        self._kbs.pictures.clear()  # after the originals, of which no more are drawn then
        self._kbs.forget_text(kb_id)
        self._path(kb_id).unlink(missing_ok=True)
        return PurgeReport(kb_id, tuple(sorted(gone.paths)), len(having), files, cached)

    def _purged(self, kb_id: str, versions: Sequence[Version], gone: Doomed) -> Purged:
        documents = {one.sha256: one for version in versions for one in version.documents}
        out = {sha256 for sha256, one in documents.items() if gone.has(one)}

        def texts(wanted: bool) -> Iterator[str]:
            for sha256, one in documents.items():
                if (sha256 in out) == wanted:
                    with suppress(KbUnreadable):  # what cannot be read cannot be looked for
                        yield self._store.text_of(kb_id, one)

        others = {one.path for version in versions for one in version.documents if not gone.has(one)}
        mark = purged_mark(self._store.record(kb_id).language, utc_now())
        return Purged(kb_id, PurgedText(texts(True), texts(False), gone.paths, others, mark), mark, gone.paths)

    def _versions(self, kb_id: str) -> list[Version]:
        """Return the versions that are kept, the newest first; the draft before all others."""
        order = {entry.version_id: row for row, entry in enumerate(self._store.history(kb_id))}
        found = []
        for version_id in self._store.versions_kept(kb_id):
            with suppress(KbUnreadable, KbNotFound):
                found.append(self._store.version(kb_id, version_id))
        return sorted(found, key=lambda one: order.get(one.version_id, len(order)), reverse=True)

    def _path(self, kb_id: str) -> Path:
        return self._store.folder(kb_id) / UNDER_WAY


def _rewritable(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and path.name not in ("kb.json", "files.json", UNDER_WAY)
