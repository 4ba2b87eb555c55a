"""Writes files and folders in one step: a reader, and the next start after a crash, finds the old or the new one."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

_MOVED_AWAY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.old")
"""What a folder is called between the two renames of ``replaced_folder``."""


@contextmanager
def replaced_file(path: Path, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of ``path`` when the block ends without an error.

    The file is written beside its place, because a rename is one step only within a file system.

    Args:
        durable: wait until content and name are on the disk, so that they survive a power failure.

    Raises:
        OSError: ``path`` cannot be written; the file that was there stays, and no partial file is left.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        # On a full disk half a file would take the place that the next attempt needs.
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def write_atomically(path: Path, content: bytes | str, durable: bool = True) -> None:
    """Write a whole file in one step; text is encoded in UTF-8, its line ends stay as they are.

    Args:
        durable: as in ``replaced_file``.

    Raises:
        OSError: as in ``replaced_file``.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replaced_file(path, durable) as file:
        file.write(data)


def write_json(path: Path, value: Mapping[str, Any], indent: int | None = 2, durable: bool = True) -> None:
    """Write a JSON object in one step. Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark.

    Args:
        durable: as in ``replaced_file``.

    Raises:
        ValueError: a number is NaN or infinite, which JSON cannot represent; nothing is written.
        OSError: as in ``replaced_file``.
    """
    # Encoded at once: a large result has millions of pieces.
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    write_atomically(path, text.encode("utf-8", "replace"), durable)


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder to write to, which takes the place of ``folder`` when the block ends without an error.

    No system replaces a folder that is not empty in one step, so the old one is moved away first. A crash between the
    two renames leaves it under a hidden name, from which ``recover_folders`` brings it back.

    Raises:
        OSError: the folder cannot be made or moved; the one that was there stays.
    """
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    old = work.with_name(f"{work.name}.old")
    work.mkdir(parents=True)
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
    """Finish what a crash within ``replaced_folder`` left below ``parent``. Call it once, when a process starts.

    A folder that was moved away goes back to its place; if the new one has taken its place, the old one is deleted.
    """
    for old in parent.glob(".*.old"):
        moved = _MOVED_AWAY.fullmatch(old.name)
        if moved is None:
            continue
        with suppress(OSError):  # another process that starts now does the same
            place = parent / moved["name"]
            if os.path.lexists(place):
                _delete(old)
            else:
                old.replace(place)


def _delete(folder: Path) -> None:
    """Delete a folder, or a link to one without what it points to, as far as possible."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Bring a new name to the disk. Some systems cannot sync a folder; then the file itself is safe all the same."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
