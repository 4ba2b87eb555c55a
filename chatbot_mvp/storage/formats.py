"""The version of each kind of file that is kept, and what every reader asks of a file before it uses it.

A number goes up when a key changes its meaning or type, or when a key becomes necessary. The program began with 1
everywhere. What reads a file of an earlier format is a module of its own, ``format_1`` of its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbot_mvp.errors import FileOfLaterVersion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

VERSION = "format_version"
"""Key of the format's number, in an object or in a line."""

# What people chose
APP_SETTINGS = 1
RUN_PRESETS = 1
# Knowledge bases
KNOWLEDGE_BASE = 2
"""``kb.json`` and the files of ``versions/`` beside it. Format 1: see ``knowledge_base.format_1``."""
QUESTION_SET = 1
REVIEWS = 1
PROMISE = 2
"""Format 1 promised at a threshold of the evidence; it is read as one that is taken back."""
EFFECTS = 1
"""``plan.json`` of a comparison of two versions, for the lines of ``answers.jsonl`` beside it too."""
CONVERSATION = 1
CHAT_LOG = 1
ANSWER_LINK = 1
# Runs
MANIFEST = 1
"""``manifest.json``; for ``records.jsonl`` and ``events.jsonl`` beside it too."""
RESULT = 1
"""``<run_id>.json`` and the lines of ``submissions.jsonl``."""
RUN_NOTE = 1
RUN_PART = 1
TUNE = 1
BASELINE = 1
# The data folder as a whole
JOB = 1
CACHE = 1
"""``PRAGMA user_version`` of the SQLite files in ``cache/``."""
MIRROR = 1
BACKUP = 1
RESTORE = 1
"""``plan.json`` of a restore that is under way."""
SHARED_LEDGER = 1
SHARED_ROOT = 1
"""``chatbot-mvp.json`` in the bucket."""
TOMBSTONE = 1


class IncompleteFile(ValueError):
    """A key is missing that every file of this kind has: the file is damaged, or no file of this program."""


def known_version(found: Mapping[str, Any], path: Path, known: int) -> dict[str, Any]:
    """Return a parsed object without its format version.

    Args:
        path: the file that the error names.
        known: the latest format of its kind, one of the numbers above.

    Raises:
        FileOfLaterVersion
        IncompleteFile: it has no format version.
    """
    version = found.get(VERSION)
    if not isinstance(version, int) or version < 1:
        raise IncompleteFile(f"{VERSION} is {version!r}; legal are 1 to {known}")
    if version > known:
        raise FileOfLaterVersion(path=str(path), found=version, known=known)
    return {name: value for name, value in found.items() if name != VERSION}


def complete(found: Mapping[str, Any], kind: type[DataclassInstance]) -> dict[str, Any]:
    """Return an object that has every field of a dataclass. Defaults are for those who make one, not for readers.

    Raises:
        IncompleteFile: names the first field that is missing.
    """
    for field in fields(kind):
        if field.name not in found:
            raise IncompleteFile(f"{field.name}: the key is missing")
    return dict(found)
