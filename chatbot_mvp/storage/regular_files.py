"""Read files that others may exchange at any moment: a pipe or a device in their place is neither awaited nor read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def read_regular(path: Path, most_bytes: int, below: Path | None = None) -> bytes:
    """Return the content of a regular file, and of a longer one the first ``most_bytes`` + 1 bytes.

    Args:
        below: a folder that ``path`` is in; no link from there on is followed. None to follow all. Where the system
            opens nothing relative to a folder (Windows), links are followed.

    Raises:
        OSError: it cannot be read, is no regular file, or leads over a link.
    """
    place = _opened(path, below)
    with os.fdopen(place, "rb") as file:
        # The descriptor is asked, not the path, which may name something else by now.
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        # Python makes room for all that is asked for, which for thousands of small files takes longer than they do.
        content = file.read(min(found.st_size, most_bytes) + 1)
        return content if len(content) <= found.st_size else content + file.read(most_bytes + 1 - len(content))


def _opened(path: Path, below: Path | None) -> int:
    if below is None or os.open not in os.supports_dir_fd:
        return os.open(path, _FLAGS)
    *folders, name = path.relative_to(below).parts
    place = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            before, place = place, os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | _NO_LINK, dir_fd=place)
            os.close(before)
        return os.open(name, _FLAGS | _NO_LINK, dir_fd=place)
    finally:
        os.close(place)
