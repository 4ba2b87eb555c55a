"""Read small files of the bucket and of this machine whole, up to a bound."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO

from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.storage.json_object import InvalidJson, parse_json
from chatbot_mvp.wings.sharing.plan import Known, Stamp

_SMALL_BYTES = 1024 * 1024
_PIECE = 1024 * 1024


def json_of(storage: Storage, root: S3Url, file: RemoteFile) -> dict[str, Any]:
    """Return the JSON object in an object of at most 1 MiB; an empty one if it is larger or holds none.

    Raises:
        StorageError
    """
    if file.size > _SMALL_BYTES:
        return {}
    return _parsed(b"".join(storage.read(root, file, 0)))


def object_of(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of this machine; an empty one if it is missing, too large or holds none."""
    try:
        with path.open("rb") as file:
            content = file.read(_SMALL_BYTES + 1)
    except OSError:
        return {}
    return _parsed(content) if len(content) <= _SMALL_BYTES else {}


def version_of(file: BinaryIO, etag: str, size: int | None = None) -> Known:
    """Return the version of an open file that is equal to ``etag`` in the bucket. The file is then at its beginning.

    Args:
        size: bytes that count; None for those that it has now.
    """
    found = os.fstat(file.fileno())
    digest, left = hashlib.sha256(), found.st_size if size is None else size
    while left and (piece := file.read(min(left, _PIECE))):
        digest.update(piece)
        left -= len(piece)
    file.seek(0)
    return Known(Stamp(found.st_size, found.st_mtime_ns), etag, digest.hexdigest())


def stamp_of(path: Path) -> Stamp | None:
    """Return the version of a file on this machine; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Stamp(found.st_size, found.st_mtime_ns)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        value = parse_json(content)
    except InvalidJson:
        return {}
    return value if isinstance(value, dict) else {}
