"""What was deleted and can be had back for a day: it lies in a folder of its own, and its time says since when."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from chatbot_mvp.storage.files import make_folder, naming

_UNDO_S = 24 * 3_600.0
"""How long a deletion can be undone, in seconds."""


def move_file(path: Path, root: Path, other: Path) -> None:
    """Move a file to the same place below another root on the same disk. Raises FileNotWritten."""
    there = other / path.relative_to(root)
    with naming(there):
        make_folder(there.parent)
        os.utime(path)  # tells when it was deleted
        path.replace(there)


def forget_old(deleted: Iterable[Path]) -> None:
    """Delete those files and folders for good that were deleted more than a day ago."""
    for path in deleted:
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNDO_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
