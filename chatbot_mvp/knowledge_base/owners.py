"""Notes which session uploaded a knowledge base, so that one visitor cannot fill the server."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from chatbot_mvp.storage.files import make_folder, write_atomically

MOST_KBS = 100
"""Knowledge bases that one visitor may have uploaded and that still exist."""


class Owners:
    """One small file per knowledge base; none for those that commands and samples made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, kb_id: str, owner: str) -> None:
        """Note who uploaded a new knowledge base.

        Raises:
            OSError: the disk is full or not writable.
        """
        make_folder(self._folder)
        write_atomically(self._folder / kb_id, owner)

    def count(self, owner: str, existing: Collection[str]) -> int:
        """Return how many of the existing knowledge bases this owner uploaded, and forget those that are deleted."""
        found = 0
        for path in self._folder.glob("[!.]*"):
            if path.name not in existing:
                path.unlink(missing_ok=True)
            elif path.read_text("utf-8") == owner:
                found += 1
        return found
