"""Write a backup: a zip without compression, with every file's size and hash in ``manifest.json``, its last member."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.data_folder import SECRETS, DataFolder
from chatbot_mvp.storage.files import naming, replaced_file
from chatbot_mvp.storage.formats import BACKUP, VERSION
from chatbot_mvp.wings.backup.errors import BackupNotMade
from chatbot_mvp.wings.backup.snapshot import Opened, Snapshot

MANIFEST = "manifest.json"
DATA, SECRET = "data/", "secrets/"
"""Where an archive has the files of the data folder, and those with keys."""
CACHE = "cache"
_REBUILT = "chroma"
"""ChromaDB's folder: several files that no reader could repair, and that are made again from the knowledge bases."""
_PIECE = 1 << 20


@dataclass
class Written:
    """What a backup holds."""

    files: dict[str, dict[str, int | str]] = field(default_factory=dict)
    """Member -> its size in bytes and its SHA-256."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Path in the data folder -> why the backup does not have it."""
    sha256: str = ""
    """SHA-256 of the whole archive, in hex."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(int(entry["size"]) for entry in self.files.values())


def save_backup(
    path: Path, folder: DataFolder, program: str, caches: bool = False, secrets: Mapping[str, Path] | None = None
) -> Written:
    """Write a backup to a file that only its owner may read. An earlier file there stays until the new one is whole.

    Args and errors are those of ``write_backup``.

    Raises:
        FileNotWritten: ``path`` cannot be written.
    """
    with naming(path), replaced_file(path.absolute()) as out:
        written = _write(out, folder, program, caches, secrets)
        out.flush()
        # Read again, because the zip's headers are completed after their files are written.
        with Path(out.name).open("rb") as file:
            written.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return written


def write_backup(
    out: BinaryIO, folder: DataFolder, program: str, caches: bool = False, secrets: Mapping[str, Path] | None = None
) -> Written:
    """Write a backup of a data folder, which others may use and change meanwhile.

    Args:
        out: need not be seekable.
        program: version of this program, for readers of the manifest.
        caches: include ``cache/``.
        secrets: files with keys to include, by the names that they get.

    Raises:
        BackupNotMade: a file cannot be read.
        OSError: ``out`` cannot be written.
    """
    hashed = _Hashed(out)
    written = _write(hashed, folder, program, caches, secrets)
    written.sha256 = hashed.digest.hexdigest()
    return written


class _Hashed:
    """A stream that hashes what is written to it. It cannot seek, so that nothing is written twice."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()


def _write(
    out: BinaryIO | _Hashed,
    folder: DataFolder,
    program: str,
    caches: bool,
    secrets: Mapping[str, Path] | None,
) -> Written:
    written = Written()
    without = folder.not_data | {_REBUILT, *SECRETS, *folder.beside} | (set() if caches else {CACHE})
    snapshot = Snapshot(folder.root, frozenset(without))
    with zipfile.ZipFile(cast(BinaryIO, out), "w", zipfile.ZIP_STORED) as archive:
        for group in snapshot.groups():
            for opened in group:
                _add(archive, written, opened)
        for name, path in folder.beside.items():
            _add_path(archive, written, DATA + name, path)
        for name, path in (secrets or {}).items():
            _add_path(archive, written, SECRET + name, path)
        written.left_out.update(snapshot.left_out)
        manifest = {
            VERSION: BACKUP,
            "program": program,
            "made_at": utc_now(),
            "caches": caches,
            "left_out": written.left_out,
            "files": written.files,
        }
        archive.writestr(_member(MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=1).encode())
    return written


def _add(archive: zipfile.ZipFile, written: Written, opened: Opened) -> None:
    if opened.path.suffix != ".sqlite":
        _copy(archive, written, DATA + opened.name, opened.file, opened.size)
        return
    # A database in use consists of several files. SQLite's own backup makes one of them.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        try:
            with (
                closing(sqlite3.connect(f"{opened.path.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as source,
                closing(sqlite3.connect(copy)) as target,
            ):
                source.backup(target)
        except sqlite3.Error as error:
            written.left_out[opened.name] = f"SQLite cannot read it: {error}"
            return
        _add_path(archive, written, DATA + opened.name, copy)


def _add_path(archive: zipfile.ZipFile, written: Written, member: str, path: Path) -> None:
    try:
        with path.open("rb") as file:
            _copy(archive, written, member, file, path.stat().st_size)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BackupNotMade(path=str(path), reason=error.strerror or str(error)) from error


def _copy(archive: zipfile.ZipFile, written: Written, member: str, file: BinaryIO, size: int) -> None:
    digest, left = hashlib.sha256(), size
    with archive.open(_member(member), "w", force_zip64=size >= zipfile.ZIP64_LIMIT) as target:
        while left and (piece := file.read(min(_PIECE, left))):
            digest.update(piece)
            target.write(piece)
            left -= len(piece)
    written.files[member] = {"size": size - left, "sha256": digest.hexdigest()}


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    return info
