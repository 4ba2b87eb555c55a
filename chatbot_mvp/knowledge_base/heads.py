"""The head of a knowledge base on disk: ``kb.json``, and a copy of it beside it for when it is damaged."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from chatbot_mvp.errors import FileOfLaterVersion, KbUnreadable
from chatbot_mvp.knowledge_base import format_1
from chatbot_mvp.knowledge_base.version_files import DAMAGED
from chatbot_mvp.knowledge_base.versions import Head, Version
from chatbot_mvp.storage.files import make_folder, write_json
from chatbot_mvp.storage.formats import KNOWLEDGE_BASE, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json

HEAD, COPY = "kb.json", "kb.json.copy"
ERRORS = (ValueError, TypeError, KeyError, AttributeError, OSError, FileOfLaterVersion)
"""What reading a damaged file raises."""


def unreadable(kb_id: str, error: Exception) -> KbUnreadable:
    """Return why a knowledge base cannot be read: something of it is damaged, or of a later version."""
    if isinstance(error, FileOfLaterVersion):
        found, known = error.params["found"], error.params["known"]
        return KbUnreadable("kb_of_later_version", kb_id=kb_id, found=found, known=known)
    return KbUnreadable("kb_unreadable", kb_id=kb_id, reason=str(error))


def read_head(path: Path) -> tuple[Head, Version | None]:
    """Return the head, and the version of a knowledge base of format 1. Raises ERRORS."""
    content = parse_json(path.read_bytes())
    found = known_version(content, path, KNOWLEDGE_BASE)
    if content[VERSION] == format_1.FORMAT:
        return format_1.read(path.parent, found)
    return Head.from_json(found, path.parent.name), None


def is_head(path: Path) -> bool:
    """Return whether a head can be read."""
    try:
        read_head(path)
    except ERRORS:
        return False
    return True


def write_head(folder: Path, head: Head) -> None:
    """Write a head, its copy first: if that fails, nothing has changed. What cannot be read there is set aside.

    Raises OSError.
    """
    for name in (COPY, HEAD):
        path, aside = folder / name, folder / DAMAGED / name
        if path.exists() and not is_head(path):
            shutil.rmtree(aside, ignore_errors=True)  # a folder may have stood there
            make_folder(aside.parent)
            path.replace(aside)
        write_json(path, {VERSION: KNOWLEDGE_BASE, **asdict(head)}, durable=name == HEAD)
