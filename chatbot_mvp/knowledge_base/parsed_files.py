"""Keep the parsed files of an upload until its knowledge base is made, so that an upload that ended early continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePath

from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.documents.reading.readers import reading_key
from chatbot_mvp.storage.bounded_folder import BoundedFolder
from chatbot_mvp.storage.json_object import parse_json

MOST_HOURS = 24
MOST_BYTES = 500_000_000


class ParsedFiles:
    """Texts by the content of their file, one JSON file each. Safe for threads and processes.

    Nothing searches these texts. They are deleted when the knowledge base is made, when any knowledge base is deleted,
    after MOST_HOURS, and, the oldest first, beyond MOST_BYTES.
    """

    def __init__(self, folder: Path) -> None:
        self._files = BoundedFolder(folder, MOST_HOURS, MOST_BYTES)
        self.clear, self.prune = self._files.clear, self._files.prune

    @staticmethod
    def key(name: str, content: bytes, limits: tuple[int, int, int], reader: str = "") -> str:
        """Return the key of a file: a hash of its format, its content and how it is read."""
        suffix = PurePath(name).suffix.lower()
        digest = hashlib.sha256(f"{suffix} {limits} {reading_key(suffix, reader)}".encode())
        digest.update(content)
        return digest.hexdigest()

    def get(self, key: str) -> ParsedText | None:
        """Return the parsed text of a file; None if it is not there, damaged or too old."""
        with suppress(ValueError, TypeError, KeyError):
            read = parse_json(self._files.get(f"{key}.json") or b"")
            return ParsedText(**{**read, "page_starts": tuple(read["page_starts"])})
        return None

    def put(self, key: str, parsed: ParsedText) -> None:
        """Keep the parsed text of a file. On a full disk it is not kept, and the upload goes on."""
        self._files.put(f"{key}.json", json.dumps(asdict(parsed), ensure_ascii=False))

    def drop(self, keys: Iterable[str]) -> None:
        """Delete the texts with these keys. What a read-only disk refuses stays until ``prune``."""
        self._files.drop(f"{key}.json" for key in keys)
