"""Memory: what a knowledge base needs, how much this process may still use, and giving back what was freed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath

from chatbot_mvp.documents.reading.readers import TEXT_SUFFIXES
from chatbot_mvp.errors import UploadError

MB_PER_MILLION = 200
"""Measured with ``benchmarks/books.py``: 5 million characters need 750 MB while they are indexed, with vectors of 384
dimensions. A third is added, because texts differ."""
CHECKED_CHARS = 500_000
"""Smaller knowledge bases are not checked: they need less memory than the estimate is accurate to."""


def needed_mb(chars: int) -> int:
    """Return the memory in MB that indexing and searching a text of ``chars`` characters needs."""
    return round(chars * MB_PER_MILLION / 1e6)


def known_chars(files: Sequence[tuple[str, bytes]], max_chars: int) -> int:
    """Return the characters of a knowledge base of these files, as far as that is known before the files are read.

    Packed files (PDF, Word) tell nothing: most of a PDF can be pictures. They count as 0.
    """
    plain = (*TEXT_SUFFIXES, ".html", ".htm")
    return min(sum(len(content) for name, content in files if PurePath(name).suffix.lower() in plain), max_chars)


def available_mb(root: Path = Path("/")) -> int | None:
    """Return the memory in MB that this process may still use; None if the system does not say.

    That is the free memory of the machine, or less if a control group (a container) has a lower limit.
    """
    found = [_free_of_machine(root), *(_free_of_group(folder) for folder in _groups(root))]
    known = [free for free in found if free is not None]
    return min(known) // 1_000_000 if known else None


def require_memory(chars: int) -> None:
    """Check that there is enough memory for a knowledge base of ``chars`` characters.

    Raises:
        UploadError (upload_needs_memory): there is not.
    """
    free = available_mb() if chars > CHECKED_CHARS else None
    if free is not None and free < needed_mb(chars):
        raise UploadError("upload_needs_memory", chars=chars, needed_mb=needed_mb(chars), available_mb=free)


def return_freed_memory() -> None:
    """Give memory that was freed back to the system; does nothing where the C library cannot.

    glibc keeps it for the thread that allocated it, and each index is built by a thread of its own: after 200 knowledge
    bases, of which 50 were kept, the process held 1.8 GB instead of 0.9 GB.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _free_of_machine(root: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1_024
    return None


def _groups(root: Path) -> list[Path]:
    """Return the folders of the process' control group and of the groups that contain it (versions 2 and 1)."""
    base = root / "sys/fs/cgroup"
    folders = [base, base / "memory"]
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, kind, path = line.split(":", 2)
            if kind in ("", "memory"):
                own = (base / kind / path.strip("/")) if path.strip("/") else base / kind
                folders += [own, *(parent for parent in own.parents if parent.is_relative_to(base))]
    return list(dict.fromkeys(folders))


def _free_of_group(folder: Path) -> int | None:
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        with suppress(OSError, ValueError):  # a group without a limit says "max"
            total = int((folder / limit).read_text())
            return max(0, total - int((folder / used).read_text()) + _file_cache(folder))
    return None


def _file_cache(folder: Path) -> int:
    """Return the bytes of cached files, which the system frees when a process needs memory."""
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0
