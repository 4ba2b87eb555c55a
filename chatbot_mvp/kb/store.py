"""Knowledge bases on disk: one folder each, the source text and what is known about it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from chatbot_mvp.errors import KbNotFound, KbUnreadable
from chatbot_mvp.kb.parsing import parse_upload
from chatbot_mvp.text import detect_language, fold
from chatbot_mvp.types import Document


@dataclass(frozen=True)
class KbRecord:
    """What is known about a stored knowledge base."""

    kb_id: str
    kb_name: str
    """The uploaded file's name."""
    language: str
    """Detected language of the text, "es" or "en"."""
    chars: int
    """Characters kept."""
    original_chars: int
    """Characters of the upload."""
    kb_truncated: bool
    """True when the upload was over the limit and cut at a paragraph."""
    encoding: str
    sha256: str
    """Of the kept text in UTF-8."""
    added_at: str
    """ISO 8601, UTC."""


class KbStore:
    """Reads and writes ``<root>/<kb_id>/source.txt`` and ``kb.json``. Equal text under an equal name is the same KB."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, name: str, content: bytes, max_chars: int, max_mb: int) -> KbRecord:
        """Parse and keep an upload; it becomes the newest KB.

        Raises:
            UploadError: the file cannot be used; nothing that was there before is touched.
        """
        parsed = parse_upload(name, content, max_chars, max_mb)
        sha = hashlib.sha256(parsed.text.encode()).hexdigest()
        slug = re.sub(r"[^a-z0-9]+", "-", fold(Path(name).stem)).strip("-")[:40] or "kb"
        record = KbRecord(
            kb_id=f"{slug}-{sha[:8]}",
            kb_name=Path(name).name,
            language=detect_language(parsed.text),
            chars=len(parsed.text),
            original_chars=parsed.original_chars,
            kb_truncated=parsed.kb_truncated,
            encoding=parsed.encoding,
            sha256=sha,
            added_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        folder = self._root / record.kb_id
        folder.mkdir(parents=True, exist_ok=True)
        # kb.json last: a folder without it is no KB, so a crash in between leaves nothing half-made in the list.
        _write(folder / "source.txt", parsed.text)
        _write(folder / "kb.json", json.dumps(asdict(record), ensure_ascii=False, indent=2))
        return record

    def records(self) -> list[KbRecord]:
        """All readable KBs, the newest first."""
        found = []
        for path in self._root.glob("*/kb.json"):
            try:
                found.append(self.record(path.parent.name))
            except (KbNotFound, KbUnreadable):
                continue
        return sorted(found, key=lambda record: (record.added_at, record.kb_id), reverse=True)

    def record(self, kb_id: str) -> KbRecord:
        """
        Raises:
            KbNotFound, KbUnreadable
        """
        path = self._root / kb_id / "kb.json"
        if not re.fullmatch(r"[a-z0-9-]+", kb_id) or not path.is_file():
            known = ", ".join(sorted(p.parent.name for p in self._root.glob("*/kb.json"))) or "-"
            raise KbNotFound(kb_id=kb_id, legal=known)
        try:
            return KbRecord(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, OSError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error

    def document(self, kb_id: str) -> Document:
        """The KB's text as one document.

        Raises:
            KbNotFound, KbUnreadable
        """
        record = self.record(kb_id)
        try:
            # newline="": offsets count the characters that were stored, whatever the platform's line ends.
            with (self._root / kb_id / "source.txt").open(encoding="utf-8", newline="") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise KbUnreadable(kb_id=kb_id, reason=str(error)) from error
        return Document(doc_id=kb_id, title=Path(record.kb_name).stem, text=text, source=record.kb_name)

    def delete(self, kb_id: str) -> None:
        """
        Raises:
            KbNotFound
        """
        self.record(kb_id)
        shutil.rmtree(self._root / kb_id)


def _write(path: Path, text: str) -> None:
    """Atomic: a reader sees the old file or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with partial.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
