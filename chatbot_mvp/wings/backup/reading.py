"""Check a backup: every name, size and hash, before anything of it is used."""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from chatbot_mvp.errors import FileOfLaterVersion
from chatbot_mvp.storage.data_folder import IN_USE, SECRETS
from chatbot_mvp.storage.formats import BACKUP, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.backup.errors import BackupUnusable
from chatbot_mvp.wings.backup.writing import DATA, MANIFEST, SECRET

_PIECE = 1 << 20
_MOST_PARTS, _MOST_BYTES = 40, 255
"""Limits of a path: its folders, and the bytes of each name."""
_REFUSED = re.compile(r"[\x00-\x1f\\:]")
_OURS = re.compile(rf"{re.escape(IN_USE)}|\.restor.*")


@dataclass(frozen=True)
class Entry:
    """A file in a backup."""

    member: str
    size: int
    """Bytes."""
    sha256: str
    """In hex."""

    @property
    def name(self) -> str:
        """Path in the data folder, or name of a file with keys."""
        return self.member.partition("/")[2]


class Backup:
    """A backup whose list of files is checked. Its contents are checked while they are read."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
        """
        Raises:
            BackupUnusable: manifest and archive differ, or a name or a size is not allowed.
        """
        self.path = path
        """The archive."""
        self._archive = archive
        self.made_at = str(manifest.get("made_at", ""))
        self.program = str(manifest.get("program", ""))
        entries = self._entries(manifest)
        self.data = [entry for entry in entries if entry.member.startswith(DATA)]
        """The files of the data folder."""
        self.secrets = [entry for entry in entries if entry.member.startswith(SECRET)]
        """Files with keys; empty unless they were asked for."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in (*self.data, *self.secrets))

    @property
    def top_names(self) -> set[str]:
        """Names that the data folder will have."""
        return {entry.name.partition("/")[0] for entry in self.data}

    def copy(self, entry: Entry, out: BinaryIO | None = None) -> None:
        """Read a file to its end, check its hash, and write it to ``out``.

        Raises:
            BackupUnusable: its content is not what the manifest says.
            OSError: ``out`` cannot be written.
        """
        digest, left = hashlib.sha256(), entry.size
        with _reading(self.path), self._archive.open(entry.member) as file:
            while piece := file.read(min(_PIECE, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                if out is not None:
                    out.write(piece)
        if left or digest.hexdigest() != entry.sha256:
            raise self._unusable(f"{entry.name!r} is damaged: its size or its SHA-256 is not that of the manifest")

    def _entries(self, manifest: dict[str, Any]) -> list[Entry]:
        listed = manifest.get("files")
        if not isinstance(listed, dict):
            raise self._unusable("its manifest has no list of files")
        infos = self._archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) < len(names):
            raise self._unusable("it has a file twice")
        if differing := set(names) ^ {MANIFEST, *listed}:
            raise self._unusable(f"{min(differing)!r} is not in both its manifest and the archive")
        found = []
        for info in infos:
            mode = info.external_attr >> 16
            if info.is_dir() or (mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode)):
                raise self._unusable(f"{info.filename!r} is a link or no plain file")
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
                raise self._unusable(f"{info.filename!r} is compressed or encrypted, unlike any backup")
            if info.filename == MANIFEST:
                continue
            entry = listed[info.filename]
            if not isinstance(entry, dict) or entry.get("size") != info.file_size:
                raise self._unusable(f"{info.filename!r} has another size than its manifest says")
            found.append(Entry(info.filename, info.file_size, str(entry.get("sha256"))))
            self._require_name(found[-1])
        # Nothing is compressed, so files that are larger together than the archive share their bytes: a zip bomb.
        if sum(info.file_size for info in infos) > self.path.stat().st_size:
            raise self._unusable("its files are larger than the archive itself")
        folders = {entry.member.rpartition("/")[0] for entry in found}
        if clash := next((entry.name for entry in found if entry.member in folders), None):
            raise self._unusable(f"{clash!r} is a file and a folder")
        return found

    def _require_name(self, entry: Entry) -> None:
        parts = entry.name.split("/")
        bad = (
            not entry.member.startswith((DATA, SECRET))
            or _REFUSED.search(entry.name) is not None
            or len(parts) > _MOST_PARTS
            or any(part in ("", ".", "..") or len(part.encode("utf-8", "replace")) > _MOST_BYTES for part in parts)
            or (entry.member.startswith(DATA) and (parts[0] in SECRETS or _OURS.fullmatch(parts[0]) is not None))
            or (entry.member.startswith(SECRET) and len(parts) > 1)
        )
        if bad:
            raise self._unusable(f"{entry.member!r} is no name of a file in a data folder")

    def _unusable(self, reason: str) -> BackupUnusable:
        return BackupUnusable(path=str(self.path), reason=reason)


@contextmanager
def open_backup(path: Path, sha256: str = "") -> Iterator[Backup]:
    """Open a backup and check its list of files.

    Args:
        sha256: the hash that the whole archive must have, in hex; "" for any.

    Raises:
        BackupUnusable: the file is missing, damaged, another one than ``sha256`` says, or no backup of this program.
        FileOfLaterVersion
    """
    with ExitStack() as stack:
        with _reading(path):
            file = stack.enter_context(path.open("rb"))
            found = hashlib.file_digest(file, "sha256").hexdigest() if sha256 else ""
        if found != sha256.lower():
            raise BackupUnusable(path=str(path), reason=f"its SHA-256 is {found} and not {sha256.lower()}")
        with _reading(path):
            archive = stack.enter_context(zipfile.ZipFile(file))
        with _reading(path):
            if MANIFEST not in archive.namelist() or archive.getinfo(MANIFEST).compress_type != zipfile.ZIP_STORED:
                raise BackupUnusable(path=str(path), reason=f"it is a zip without the {MANIFEST} of a backup")
            manifest = parse_json(archive.read(MANIFEST))
        if not isinstance(manifest, dict) or not isinstance(manifest.get("format_version"), int):
            raise BackupUnusable(path=str(path), reason="its manifest names no format")
        yield Backup(path, archive, known_version(manifest, path, BACKUP))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert what reading an archive may raise to ``BackupUnusable``."""
    try:
        yield
    except (BackupUnusable, FileOfLaterVersion):
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, KeyError, ValueError) as error:
        raise BackupUnusable(path=str(path), reason=str(error) or type(error).__name__) from error
    except OSError as error:
        # An error of the file that is written to has its own name.
        if error.filename not in (None, str(path)):
            raise
        with suppress(OSError):
            path.stat()
        raise BackupUnusable(path=str(path), reason=error.strerror or str(error)) from error
