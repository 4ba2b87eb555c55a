"""Write a backup: a zip without compression, with every file's size and hash in ``manifest.json``, its last member.

The files of a data folder, which others change, are opened so that the copies fit together.
Files are replaced by a rename or grow at their end. An open file keeps the content that it had when it was replaced,
and a growing one is read up to its size at that moment. The files of one knowledge base, run or data set are opened
together, and again if one of them was replaced meanwhile. So their copies are a state that existed.

Between such groups the order decides: what is written last is copied first. A job that is done has its run, a result
has its records, and a line in the list of runs is there before the run's result.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.data_folder import SECRETS, DataFolder, names_in
from chatbot_mvp.storage.file_locks import lock, unlock
from chatbot_mvp.storage.files import naming, replaced_file
from chatbot_mvp.storage.formats import BACKUP, VERSION
from chatbot_mvp.wings.backup.errors import BackupNotMade

_FIRST = ("jobs", "kb_jobs", "data_jobs", "kb_evaluation_jobs", "conversations", "results", "submissions.jsonl")
_LAST = ("datasets", "kb", "cache")
_TOGETHER = ("results", "datasets", "kb")
"""Folders in which each subfolder, with all that is below it, is one state. Elsewhere each folder's own files are."""
_AT_ONCE = 256
"""How many files are open at once. Only data sets have more, and their files do not change."""
_TRIES = 100
_GROWING = (".jsonl", ".log")
_PASSING = re.compile(
    r".*\.lock|.*\.stop|\..+\.\d+\.\d+|\..+\.[0-9a-f]{12}|.+\.sqlite-(wal|shm|journal)"
    r"|\.in-use|\.writable\.\d+|\.restore\.[0-9a-f]{12}|\.restoring|\.restored\.[0-9a-f]{12}"
)
"""Locks, requests to stop, and what a write that has not finished leaves: see ``storage.files``."""

MANIFEST = "manifest.json"
DATA, SECRET = "data/", "secrets/"
"""Where an archive has the files of the data folder, and those with keys."""
CACHE = "cache"
_REBUILT = "chroma"
"""ChromaDB's folder: several files that no reader could repair, and that are made again from the knowledge bases."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class Opened:
    """A file as it was at one moment."""

    name: str
    """Path in the data folder, with "/"."""
    path: Path
    file: BinaryIO
    size: int
    """Bytes to copy; the file may be longer by now."""


class Snapshot:
    """The files of a data folder, group by group. ``left_out`` grows while the groups are read."""

    def __init__(self, root: Path, without: frozenset[str]) -> None:
        """
        Args:
            without: names in ``root`` to leave out.
        """
        self._root = root
        self._without = without
        self.left_out: dict[str, str] = {}
        """Path in the folder of what is no plain file -> why it is left out."""

    def groups(self) -> Iterator[list[Opened]]:
        """Yield the files of each group, open until the next one is asked for.

        Raises:
            BackupNotMade: a file cannot be read, or the files of a group do not stop being replaced.
        """
        # What has a place in the order is looked for in its turn, because it may appear while others are copied.
        names = {*names_in(self._root), *_FIRST, *_LAST} - self._without
        for top in sorted(names, key=_rank):
            parts = [top]
            if top in _TOGETHER and (self._root / top).is_dir():
                parts = [f"{top}/{child}" for child in names_in(self._root / top)]
            for part in parts:
                yield from self._of(part, whole=top in _TOGETHER)

    def _of(self, part: str, whole: bool) -> Iterator[list[Opened]]:
        for folder in [part] if whole else list(self._folders(part)):
            names = list(self._state(folder, whole))
            if len(names) <= _AT_ONCE:
                with self._opened(folder, whole) as opened:
                    yield opened
                continue
            for begin in range(0, len(names), _AT_ONCE):
                with self._opened(folder, whole, names[begin : begin + _AT_ONCE]) as opened:
                    yield opened

    def _folders(self, name: str) -> Iterator[str]:
        yield name
        path = self._root / name
        if path.is_dir() and not path.is_symlink() and not _PASSING.fullmatch(path.name):
            with suppress(FileNotFoundError):
                for child in sorted(os.scandir(path), key=lambda entry: entry.name):
                    if child.is_dir(follow_symlinks=False):
                        yield from self._folders(f"{name}/{child.name}")

    @contextmanager
    def _opened(self, folder: str, whole: bool, names: Sequence[str] | None = None) -> Iterator[list[Opened]]:
        """Open the files of a folder; only those of ``names``, if given, as far as they still exist."""

        def state() -> dict[str, tuple[int, ...]]:
            return {name: now for name, now in self._state(folder, whole).items() if names is None or name in names}

        for _ in range(_TRIES):
            with ExitStack() as stack:
                before = state()
                with suppress(FileNotFoundError):
                    found = [stack.enter_context(_open(self._root / name, name)) for name in before]
                    if state() == before:
                        yield found
                        return
        raise BackupNotMade(path=str(self._root / folder), reason="its files were replaced all the time")

    def _state(self, name: str, whole: bool) -> dict[str, tuple[int, ...]]:
        """Return path -> what changes when the file is replaced, for the files of a folder or for the one file."""
        found: dict[str, tuple[int, ...]] = {}
        path = self._root / name
        if _PASSING.fullmatch(path.name):
            return found
        try:
            name.encode()
            status = path.lstat()
            if path.is_symlink():
                self.left_out[name] = f"a link to {path.readlink()}"
            elif path.is_dir():
                for child in names_in(path):
                    if whole or not (path / child).is_dir() or (path / child).is_symlink():
                        found |= self._state(f"{name}/{child}", whole)
            elif path.is_file():
                grows = path.suffix in _GROWING
                found[name] = (status.st_ino,) if grows else (status.st_ino, status.st_mtime_ns, status.st_size)
            else:
                self.left_out[name] = "no plain file"
        except UnicodeEncodeError:
            self.left_out[os.fsencode(name).decode("utf-8", "replace")] = "its name is not UTF-8"
        except FileNotFoundError:  # deleted meanwhile
            pass
        except OSError as error:
            raise BackupNotMade(path=str(path), reason=error.strerror or str(error)) from error
        return found


@contextmanager
def _open(path: Path, name: str) -> Iterator[Opened]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BackupNotMade(path=str(path), reason=error.strerror or str(error)) from error
    with file:
        if path.suffix == ".jsonl":
            # A program that appends a line holds this lock, so the file ends with a whole line now.
            lock(file, shared=True)
        size = os.fstat(file.fileno()).st_size
        unlock(file)
        yield Opened(name, path, file, size)


def _rank(name: str) -> tuple[int, str]:
    if name in _FIRST:
        return _FIRST.index(name) - len(_FIRST), name
    return (_LAST.index(name) + 1 if name in _LAST else 0), name


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
