"""The files of one knowledge base that never change: its versions, the texts of its documents, and their originals."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from chatbot_mvp.documents.kb_files import text_hash
from chatbot_mvp.knowledge_base.versions import KbDocument, Version, joined
from chatbot_mvp.storage.files import in_utf8, make_folder, write_atomically, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.lru import BoundedCache

DAMAGED = "damaged"
"""Folder for what was set aside because it cannot be read. Nothing reads it; a purge deletes it."""
_SYNCED_ALONE = 16
"""More files than this are brought to the disk by one call for the whole system, which takes less time."""
_TEXTS_KEPT = 12_000_000
"""Characters of documents' texts that stay in memory, so that a change reads only what changed."""


class VersionFiles:
    """Reads and writes ``versions/<id>.json``, ``texts/<sha256>.txt`` and ``originals/<sha256>`` of knowledge bases.

    What is named by its content is written once and then only read or deleted, so that readers need no lock. Every
    method takes the folder of one knowledge base. Safe for threads and processes.
    """

    def __init__(self) -> None:
        self._texts: BoundedCache[tuple[Path, str], str] = BoundedCache(_TEXTS_KEPT, len)
        self._versions: BoundedCache[tuple[Path, str], Version] = BoundedCache(64)

    def put_text(self, folder: Path, text: str, durable: bool = True) -> str:
        """Keep a text and return its name. A damaged copy is replaced."""
        name, content = text_hash(text), in_utf8(text)
        path = _text(folder, name)
        _clear(path)
        if not path.is_file() or path.stat().st_size != len(content) or path.read_bytes() != content:
            # A folder of thousands of texts is not searched for what killed writes left, except by few writes.
            make_folder(path.parent)
            write_atomically(path, content, durable, tidy=durable)
        return name

    def put_original(self, folder: Path, content: bytes, durable: bool = True) -> str:
        """Keep a file as it was uploaded, and return its name."""
        name = hashlib.sha256(content).hexdigest()
        path = folder / "originals" / name
        _clear(path)
        if not path.is_file() or path.stat().st_size != len(content):
            make_folder(path.parent)
            write_atomically(path, content, durable, tidy=durable)
        return name

    def put_version(self, folder: Path, version: Version) -> None:
        """Keep a version. A damaged copy is replaced."""
        path = _version(folder, version.version_id)
        _clear(path)
        make_folder(path.parent)
        write_json(path, {VERSION: KNOWLEDGE_BASE, **version.as_json()}, indent=None)
        self._versions.put((folder, version.version_id), version)

    def version(self, folder: Path, version_id: str) -> Version:
        """Read a version.

        Raises:
            OSError, ValueError, TypeError, KeyError, FileOfLaterVersion: it cannot be read.
        """
        path = _version(folder, version_id)
        if not path.is_file():
            self._versions.drop(lambda key: key == (folder, version_id))
            raise FileNotFoundError(2, "the file is missing", str(path))
        return self._versions.get_or_build(
            (folder, version_id),
            lambda: Version.from_json(known_version(parse_json(path.read_bytes()), path, KNOWLEDGE_BASE)),
        )

    def text(self, folder: Path, sha256: str) -> str:
        """Return a text by its name.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged.
        """
        return self._texts.get_or_build((folder, sha256), lambda: _read_text(_text(folder, sha256)))

    def texts(self, folder: Path, documents: Iterable[KbDocument]) -> Mapping[str, str]:
        """Return name -> text of some documents. Raises as ``text``."""
        return {name: self.text(folder, name) for name in {document.sha256: None for document in documents}}

    def joined(self, folder: Path, version: Version) -> tuple[str, list[str]]:
        """Return (the text of a version, paths of the documents in it that cannot be read, if others can).

        Blanks stand where their texts were, so that the places of the others are right.

        Raises:
            As ``text``: no document can be read.
        """
        whole = {one.sha256 for one in version.documents if self.is_whole(folder, one)}
        gaps = [file for file in version.files if whole and file.sha256 not in whole]
        length = {one.sha256: max(each.end - each.start for each in gaps if each.sha256 == one.sha256) for one in gaps}
        texts = {
            name: "x" * length.get(name, 1) if whole and name not in whole else self.text(folder, name)
            for name in {one.sha256: None for one in version.documents}
        }
        text, _ = joined(version.documents, texts, version.max_chars)
        if gaps:
            ends = [0, *(file.end for file in version.files)]
            text = text[: ends[-1]]
            for end, file in zip(ends, version.files, strict=False):
                if file in gaps:
                    text = text[:end] + " " * (file.end - end) + text[file.end :]
        return text, [file.name for file in gaps]

    def is_whole(self, folder: Path, document: KbDocument) -> bool:
        """Return whether the text of a document can be read."""
        try:
            self.text(folder, document.sha256)
        except (OSError, ValueError):
            return False
        return True

    def original(self, folder: Path, name: str) -> bytes:
        """Return a file as it was uploaded. Raises OSError."""
        return (folder / "originals" / name).read_bytes()

    def version_ids(self, folder: Path) -> list[str]:
        """Return the ids of the versions that are kept."""
        return sorted(path.stem for path in (folder / "versions").glob("[!.]*.json"))

    def missing(self, folder: Path, version: Version) -> set[str]:
        """Return the files that a version needs and that are not there, as paths in the folder."""
        named = {f"texts/{one.sha256}.txt" for one in version.documents}
        named |= {f"originals/{one.original}" for one in version.documents if one.original}
        there = {f"{kind}/{path.name}" for kind in ("texts", "originals") for path in (folder / kind).glob("[!.]*")}
        own = _version(folder, version.version_id)
        return named - there | (set() if own.is_file() else {f"versions/{own.name}"})

    def size(self, folder: Path, versions: Sequence[Version] = ()) -> int:
        """Return the bytes of all texts and originals; of those that ``versions`` name if there are any."""
        named = _named(versions)
        return sum(
            _bytes_of(path)
            for kind in ("texts", "originals")
            for path in (folder / kind).glob("[!.]*")
            if not versions or path.stem in named
        )

    def keep_only(self, folder: Path, versions: Sequence[Version], aside: bool = False) -> None:
        """Delete all other versions, and the texts and originals that none of these names.

        Args:
            aside: move them to the folder ``damaged`` instead, because a version that is needed cannot be read.
        """
        kept, named = {version.version_id for version in versions}, _named(versions)
        for kind, names in (("versions", kept), ("texts", named), ("originals", named)):
            for path in (folder / kind).glob("[!.]*"):
                if path.stem in names:
                    continue
                if aside:
                    place = folder / DAMAGED / kind
                    make_folder(place)
                    path.replace(place / path.name)
                elif path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        self._texts.drop(lambda key: key[0] == folder and key[1] not in named)
        self._versions.drop(lambda key: key[0] == folder and key[1] not in kept)

    def forget(self, folder: Path) -> None:
        """Keep nothing of a knowledge base in memory."""
        self._texts.drop(lambda key: key[0] == folder)
        self._versions.drop(lambda key: key[0] == folder)


def synced(count: int) -> bool:
    """Return whether each of ``count`` files shall be brought to the disk alone; otherwise ``sync_all`` follows."""
    return count <= _SYNCED_ALONE


def sync_all() -> None:
    """Bring everything that was written to the disk."""
    with suppress(AttributeError):  # Windows has no such call
        os.sync()


def _named(versions: Sequence[Version]) -> set[str]:
    documents = [document for version in versions for document in version.documents]
    return {document.sha256 for document in documents} | {document.original for document in documents}


def _bytes_of(path: Path) -> int:
    """Return the size of a file, 0 if it went meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _read_text(path: Path) -> str:
    text = path.read_bytes().decode()
    if text_hash(text) != path.stem:
        raise ValueError(f"{path.name}: its content is not what its name says")
    return text


def _clear(path: Path) -> None:
    """Remove a folder that stands where a file belongs."""
    if path.is_dir():
        shutil.rmtree(path)


def _text(folder: Path, sha256: str) -> Path:
    return folder / "texts" / f"{sha256}.txt"


def _version(folder: Path, version_id: str) -> Path:
    return folder / "versions" / f"{version_id}.json"
