"""Purge documents: from every version of a knowledge base, and from everything that quotes them.

While it is at work, nobody else changes the knowledge base. A file in its folder says which documents a purge is about
until it is done. Every step can be done again, and the documents themselves go last, so that a purge that was killed is
continued from its beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.errors import ChatbotError, KbNotFound, KbUnreadable
from chatbot_mvp.knowledge_base.changes import document_not_found
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.lines import Doomed, Lines
from chatbot_mvp.knowledge_base.places import purged_mark
from chatbot_mvp.knowledge_base.purged_files import purge_caches, purge_files
from chatbot_mvp.knowledge_base.purged_text import Purged, PurgedText
from chatbot_mvp.knowledge_base.versions import KbDocument, Version
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import sweep, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION
from chatbot_mvp.storage.json_object import InvalidJson, parse_json

_log = logging.getLogger(__name__)

UNDER_WAY = "purge.json"
"""In the folder of a knowledge base: the paths of a purge that is not done, and the documents that it is about, of
which versions may say no more what they were."""

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
    equal: tuple[str, ...] = ()
    """Paths of documents that stay although they have a text of those that went: its words stay wherever they are."""
    damaged: tuple[str, ...] = ()
    """What could not be read, and so was deleted if it was of the knowledge base or a cache, and left otherwise: what
    it quotes is not known."""


class Purges:
    """Purges documents of knowledge bases, beside ``KbChanges``."""

    def __init__(self, kbs: KnowledgeBases, settings: Settings, erasers: Sequence[Eraser]) -> None:
        """
        Args:
            erasers: one for each part that keeps quotations; may grow later.
        """
        self._kbs = kbs
        self._store = kbs.store
        self._erasers = erasers
        self._root = settings.data_dir
        self._folders = (settings.cache_dir, settings.chroma_dir)

    def plan(self, kb_id: str, paths: Collection[str]) -> Doomed:
        """Return the documents that a purge of these paths is about.

        Raises:
            KbChangeError (kb_document_not_found): there is no document under one of the paths.
            KbNotFound, KbUnreadable
        """
        lines = self.lines(kb_id)
        before, found = self._begun(kb_id)
        for path in paths:
            if path not in before and not lines.named(path):
                raise document_not_found(kb_id, path, lines.paths())
        return lines.doomed([path for path in paths if not (found and path in before)], found)

    def lines(self, kb_id: str) -> Lines:
        """Return the documents of all versions that are kept. Raises KbNotFound, KbUnreadable."""
        history = [one.version_id for one in self._store.history(kb_id)]
        kept = {one.version_id: one for one in self._versions(kb_id)}
        lines, staged = Lines([kept[one] for one in history if one in kept]), self._store.staged(kb_id)
        for version_id, version in kept.items():
            if version_id not in history:
                lines.add_draft(version, staged.base if staged and staged.version_id == version_id else "")
        return lines

    def begin(self, kb_id: str, paths: Collection[str], gone: Doomed) -> None:
        """Write down that a purge is under way, together with one that was not finished. Raises OSError.

        Args:
            gone: what it is about, with what the one before was about.
        """
        wanted = sorted({*paths, *self.under_way(kb_id)})
        write_json(self._path(kb_id), {VERSION: KNOWLEDGE_BASE, "paths": wanted, "documents": sorted(gone.found)})

    def under_way(self, kb_id: str) -> tuple[str, ...]:
        """Return the paths of a purge that was not finished."""
        return self._begun(kb_id)[0]

    def _begun(self, kb_id: str) -> tuple[tuple[str, ...], frozenset[tuple[str, str]]]:
        """Return (paths, (path, SHA-256 of the text) of the documents) of a purge that was not finished."""
        with suppress(OSError, ValueError, KeyError, TypeError, InvalidJson):
            read = parse_json(self._path(kb_id).read_bytes())
            found = frozenset((str(path), str(sha256)) for path, sha256 in read.get("documents", ()))
            return tuple(str(path) for path in read["paths"]), found
        return (), frozenset()

    def finish(self, kb_id: str, gone: Doomed) -> PurgeReport:
        """Take the documents, which the current version no longer has, out of everything.

        Raises:
            OSError, CacheUnusable, ConfigurationError: something could not be changed; begin again.
        """
        versions = self._versions(kb_id)
        having = [one for one in versions if any(map(gone.has, one.documents))]
        purged = self._purged(kb_id, versions, gone)
        folder = self._store.folder(kb_id)
        sweep(self._root)
        own = (path for path in folder.rglob("*.json*") if path.parent.name != "versions" and _rewritable(path))
        files, cached, damaged = purge_files(sorted(own), purged), 0, self._store.damaged(kb_id)
        for erase in self._erasers:
            try:
                files += erase(purged)
            except (ChatbotError, OSError):
                raise
            except Exception as error:  # noqa: BLE001  (a damaged file of one part keeps no document in the others)
                _log.warning("a purge of %s went on without %r: %r", kb_id, erase, error)
                damaged.append(repr(error))
        self._kbs.parsed.clear()
        for version in having:
            with suppress(KbUnreadable):
                self._kbs.forget_index(kb_id, version.version_id)
        if damaged:
            self._kbs.forget_indexes(kb_id)
        for place in self._folders:
            if place.is_dir():
                count, lost = purge_caches(place, purged)
                cached, damaged = cached + count, damaged + [path.name for path in lost]
        self._store.purge(kb_id, gone.has, purged.note)
        self._kbs.pictures.clear()  # after the originals, of which no more are drawn then
        self._kbs.forget_text(kb_id)
        self._path(kb_id).unlink(missing_ok=True)
        return PurgeReport(kb_id, gone.paths, len(having), files, cached, gone.equal, tuple(damaged))

    def _purged(self, kb_id: str, versions: Sequence[Version], gone: Doomed) -> Purged:
        documents = [one for version in versions for one in version.documents]
        rest = {one.sha256: one for one in documents if not gone.has(one)}
        out = {one.sha256: one for one in documents if one.sha256 not in rest}

        def texts(wanted: Iterable[KbDocument]) -> Iterator[str]:
            for one in wanted:
                with suppress(KbUnreadable):  # what cannot be read cannot be looked for
                    yield self._store.text_of(kb_id, one)

        others = {one.path for one in documents if not gone.has(one)}
        mark, own = purged_mark(self._store.record(kb_id).language, utc_now()), frozenset(gone.paths) - others
        return Purged(kb_id, PurgedText(texts(out.values()), texts(rest.values()), own, others, mark), mark, own)

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
