"""A random key in a file that the server's account alone may read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from chatbot_mvp.storage.files import lock_beside

_BYTES = 32


def new_key() -> bytes:
    """Return 32 random bytes."""
    return secrets.token_bytes(_BYTES)


def kept_key(path: Path) -> bytes:
    """Return the 32 bytes of a file; the file is created if it is missing or has another length.

    Raises:
        OSError: the file cannot be read or created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_beside(path):
        if path.exists() and len(key := path.read_bytes()) == _BYTES:
            path.chmod(0o600)
            return key
        key, partial = new_key(), path.with_name(f".{path.name}.new")
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        return key
