"""Locks of open files, which hold between processes. The system frees the locks of a process that dies.

Windows and some network file systems have no such locks. There every lock counts as free.
"""

from __future__ import annotations

from contextlib import suppress
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # the name stays, as a sign that there are no locks

HAS_LOCKS = fcntl is not None
"""Whether the system has such locks."""


def lock(file: IO[bytes] | int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock an open file, or a file descriptor; return False if its file system has no locks.

    Args:
        shared: together with other processes that lock it shared.
        wait: until another process unlocks it, in place of an error.

    Raises:
        BlockingIOError: another process has locked it.
    """
    if fcntl is None:
        return False
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, mode | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def unlock(file: IO[bytes] | int) -> None:
    """Unlock an open file. Without effect if it is not locked."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
