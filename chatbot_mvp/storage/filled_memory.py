"""Memory that the C library overwrites when it is freed, and when it is given out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_M_PERTURB = -6
"""Option of glibc's ``mallopt``: with 0xFF, memory is given out as zeros, and filled with ones when it is freed."""
_lock = threading.Lock()
_filling = False
_reserving = 0


def fill_memory() -> None:
    """Let the C library overwrite memory when it is freed and when it is given out; does nothing where it cannot.

    ChromaDB writes its index files from memory that it has not filled, so that texts which this process had freed
    stood in them, also those of documents that were purged. Where it can: glibc. Measured: no slower.
    """
    global _filling
    with _lock:
        _filling = True
        _set()


@contextmanager
def unfilled() -> Iterator[None]:
    """Leave memory as it is while a library reserves what it hardly uses: filled, it would all be resident.

    CTranslate2 reserves some 600 MB on processors with AVX-512 when it loads the local embedding model.
    """
    global _reserving
    with _lock:
        _reserving += 1
        _set()
    try:
        yield
    finally:
        with _lock:
            _reserving -= 1
            _set()


def _set() -> None:
    if _filling:
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").mallopt(_M_PERTURB, 0 if _reserving else 0xFF)
