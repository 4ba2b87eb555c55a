"""A random key in a file that the server's account alone may read."""

from __future__ import annotations

import secrets
from pathlib import Path

from chatbot_mvp.storage.files import lock_beside, make_folder, make_private, write_atomically

_BYTES = 32


def new_key() -> bytes:
    """Return 32 random bytes."""
    return secrets.token_bytes(_BYTES)


def kept_key(path: Path) -> bytes:
    """Return the 32 bytes of a file; the file is created if it is missing or has another length.

    Raises:
        OSError: the file cannot be read or created.
    """
    make_folder(path.parent)
    with lock_beside(path):
        if path.exists() and len(key := path.read_bytes()) == _BYTES:
            make_private(path)
            return key
        key = new_key()
        write_atomically(path, key)
        return key
