"""Keep the parsed files of an upload until its knowledge base is made, so that an upload that ended early continues."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.documents.reading.readers import reading_key
from chatbot_mvp.storage.files import make_folder, write_atomically
from chatbot_mvp.storage.json_object import parse_json

MOST_HOURS = 24
MOST_BYTES = 500_000_000


class ParsedFiles:
    """Texts by the content of their file, one JSON file each. Safe for threads and processes.

    Nothing searches these texts. They are deleted when the knowledge base is made, when any knowledge base is deleted,
    after MOST_HOURS, and, the oldest first, beyond MOST_BYTES.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def key(name: str, content: bytes, limits: tuple[int, int, int]) -> str:
        """Return the key of a file: a hash of its format, its content and how it is read."""
        suffix = PurePath(name).suffix.lower()
        digest = hashlib.sha256(f"{suffix} {limits} {reading_key(suffix)}".encode())
        digest.update(content)
        return digest.hexdigest()

    def get(self, key: str) -> ParsedText | None:
        """Return the parsed text of a file; None if it is not there, damaged or too old."""
        path = self._path(key)
        try:
            if time.time() - path.stat().st_mtime > MOST_HOURS * 3_600:
                return None
            read = parse_json(path.read_bytes())
            return ParsedText(**{**read, "page_starts": tuple(read["page_starts"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, key: str, parsed: ParsedText) -> None:
        """Keep the parsed text of a file. On a full disk it is not kept, and the upload goes on."""
        with suppress(OSError):
            make_folder(self._folder)
            write_atomically(self._path(key), json.dumps(asdict(parsed), ensure_ascii=False), durable=False)

    def drop(self, keys: Iterable[str]) -> None:
        """Delete the texts with these keys. What a read-only disk refuses stays until ``prune``."""
        for key in keys:
            with suppress(OSError):
                self._path(key).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all texts."""
        for path in self._paths():
            path.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete the texts that are too old, then the oldest ones until the rest fits into MOST_BYTES."""
        kept, newest = 0, []
        for path in self._paths():
            with suppress(OSError):  # another process may have deleted it
                found = path.stat()
                newest.append((found.st_mtime, found.st_size, path))
        for changed, size, path in sorted(newest, reverse=True):
            kept += size
            if kept > MOST_BYTES or time.time() - changed > MOST_HOURS * 3_600:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        # Includes the unfinished files of a process that was killed; their names begin with a dot.
        return [path for path in self._folder.glob("*") if path.is_file()] if self._folder.is_dir() else []

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"
