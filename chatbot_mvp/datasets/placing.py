"""Replace a folder atomically: write a new one beside it, then rename it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_anew(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` when the block ends. After an error nothing is changed."""
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}")
    work.mkdir(parents=True)
    try:
        yield work
        old = work.with_name(f"{work.name}.old")
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            folder.replace(old)
        work.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
