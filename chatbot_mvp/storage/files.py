"""Write files and folders atomically: readers find the old or the new version, even after a crash."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from chatbot_mvp.errors import FileNotWritten
from chatbot_mvp.storage.file_locks import HAS_LOCKS, lock

_MOVED_AWAY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.old")
"""Name of a folder between the two renames of ``replaced_folder``."""
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{12}")
"""Name of a folder that ``replaced_folder`` fills."""
_LEFT_BEHIND = re.compile(r"\..+\.\d+\.\d+")
"""Name of the unfinished file of ``replaced_file``."""
_OLD_S = 3_600
"""An unfinished file that nobody has written to for so long belongs to a process that was killed."""
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_LOCK_S, _POLL_S = 10, 0.01
LONE = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which UTF-8 cannot encode."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Convert every ``OSError`` of the block to ``FileNotWritten``, which names ``path`` and the next step."""
    try:
        yield
    except OSError as error:
        raise FileNotWritten(path=str(path), reason=error.strerror or str(error)) from error


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read and write, if it is new: an ``opener`` for ``open``."""
    return os.open(path, flags, _PRIVATE_FILE)


def make_folder(folder: Path) -> None:
    """Create a folder that only its owner may enter, and its missing parents likewise. One that exists stays as it is.

    Raises:
        OSError: it cannot be created, or is a file.
    """
    missing = [folder, *folder.parents]
    for place in reversed(missing[: next((at for at, parent in enumerate(missing) if parent.exists()), None)]):
        place.mkdir(_PRIVATE_FOLDER, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises if it is a file


def make_new_folder(folder: Path) -> None:
    """Create a folder as ``make_folder`` does.

    Raises:
        FileExistsError: it exists.
        OSError: it cannot be created.
    """
    make_folder(folder.parent)
    folder.mkdir(_PRIVATE_FOLDER)


def make_private(path: Path) -> None:
    """Take the rights of others to a file or folder away. Links, files of others, and systems without rights stay."""
    with suppress(OSError):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & _PRIVATE_FOLDER)


def remove_left_behind(folder: Path) -> None:
    """Delete the unfinished files that killed processes left in a folder. Not in subfolders."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _LEFT_BEHIND.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # another process may delete it, too
                    if _is_left_behind(Path(entry.path)):
                        Path(entry.path).unlink()


def sweep(root: Path) -> None:
    """Delete the unfinished files that killed processes left in a folder and all below it."""
    for folder, _, _ in os.walk(root):
        remove_left_behind(Path(folder))


def _is_left_behind(partial: Path) -> bool:
    """Return whether nobody writes an unfinished file any more: its lock is free, or it is old and has none."""
    found = partial.stat()
    old = time.time() - found.st_mtime > _OLD_S
    with partial.open("rb") as file:
        try:
            locks = lock(file, wait=False)
        except BlockingIOError:
            return False
    return old or (locks and found.st_size > 0)  # between its opening and its lock it is empty


@contextmanager
def lock_beside(path: Path) -> Iterator[None]:
    """Hold the lock of a file that this process reads, changes and writes again.

    The lock is a file of its own with a hidden name, because the file itself is replaced. The system frees the lock
    when its process dies.

    Raises:
        OSError: another process held the lock for ten seconds, or the folder is not writable.
    """
    beside = FileLock(path.with_name(f".{path.name}.lock"), timeout=_LOCK_S)
    with beside.acquire(poll_interval=_POLL_S):
        yield


def is_held(file: Path) -> bool:
    """Return whether a process holds the lock of this file. The system frees a lock when its process dies."""
    probe = FileLock(file, timeout=0)
    try:
        probe.acquire()
    except Timeout:
        return True
    probe.release()
    return False


@contextmanager
def replaced_file(path: Path, durable: bool = True, tidy: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block ends without an error.

    The new file is written to the same folder, because a rename is atomic only within one file system. Only its owner
    may read it.

    Args:
        durable: wait until content and name are on the disk, so that they survive a power failure.
        tidy: first delete what killed writes left in the folder, which reads all of its names.

    Raises:
        OSError: ``path`` cannot be written; an existing file stays unchanged, and no partial file is left.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        if tidy:
            remove_left_behind(path.parent)
        with open(partial, "wb", opener=private) as file:
            lock(file.fileno())
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if HAS_LOCKS:  # the system lets an open file get another name
                partial.replace(path)
        if not HAS_LOCKS:
            partial.replace(path)
    except BaseException:
        # On a full disk, a partial file would use the space that the next attempt needs.
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_atomically(path: Path, content: bytes | str, durable: bool = True, tidy: bool = True) -> None:
    """Write a whole file atomically. Text is encoded as by ``in_utf8``; its line ends are not changed.

    ``durable``, ``tidy`` and errors are as in ``replaced_file``.
    """
    data = in_utf8(content) if isinstance(content, str) else content
    with replaced_file(path, durable, tidy) as file:
        file.write(data)


def sha256_of(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def in_utf8(text: str) -> bytes:
    """Encode a text. Lone surrogates, which UTF-8 cannot encode, become U+FFFD; so all offsets stay valid."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return LONE.sub("\ufffd", text).encode("utf-8")


def write_json(path: Path, value: Mapping[str, Any], indent: int | None = 2, durable: bool = True) -> None:
    """Write a JSON object atomically. Lone surrogates, which UTF-8 cannot encode, become U+FFFD.

    ``durable`` and errors are as in ``replaced_file``.

    Raises:
        ValueError: a number is NaN or infinite, which JSON cannot represent; nothing is written.
    """
    # Encode the object in one call: writing the millions of pieces of a large result one by one is slow.
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    write_atomically(path, text, durable)


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` when the block ends without an error.

    No system can replace a non-empty folder atomically, so the old folder is renamed first. A crash between the two
    renames leaves the old folder under a hidden name; ``recover_folders`` then restores it.

    Raises:
        OSError: the folder cannot be created or moved; an existing folder stays unchanged.
    """
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    old = work.with_name(f"{work.name}.old")
    make_folder(work)
    try:
        yield work
        if os.path.lexists(folder):
            folder.replace(old)
        try:
            work.replace(folder)
        except OSError:
            if os.path.lexists(old):
                old.replace(folder)
            raise
        _delete(old)
    finally:
        _delete(work)


def recover_folders(parent: Path) -> None:
    """Clean up after a crash within ``replaced_folder`` below ``parent``. Call it once, when a process starts.

    An old folder gets its name back; if the new folder already has that name, the old folder is deleted. A folder that
    a killed process has begun to fill is deleted when nothing in it was written for an hour.
    """
    for begun in parent.glob(".*"):
        with suppress(OSError):  # another process may delete it, too
            if _UNFINISHED.fullmatch(begun.name) and begun.is_dir() and not begun.is_symlink():
                latest = max(path.lstat().st_mtime for path in (begun, *begun.rglob("*")))
                if time.time() - latest > _OLD_S:
                    _delete(begun)
    for old in parent.glob(".*.old"):
        moved = _MOVED_AWAY.fullmatch(old.name)
        if moved is None:
            continue
        with suppress(OSError):  # another process may be recovering the same folder
            place = parent / moved["name"]
            if os.path.lexists(place):
                _delete(old)
            else:
                old.replace(place)


def _delete(folder: Path) -> None:
    """Delete a folder as far as possible. If it is a link, delete only the link, not its target."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new file name is on the disk. Systems that cannot sync a folder are ignored."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
