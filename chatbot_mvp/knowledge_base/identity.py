"""Make the id of a knowledge base from its content."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from chatbot_mvp.documents.sources import KbFile, text_hash
from chatbot_mvp.text import fold

_DIGITS = (24, 64)
"""Digits of the content's hash: the longer id is for content whose short id other content has."""


def possible_ids(sha256: str, files: Sequence[KbFile]) -> tuple[str, ...]:
    """Return the ids that a knowledge base of this content can have, the usual one first.

    Their hash covers the files' names, places and pages, because citations name them.

    Args:
        sha256: hash of the text, as ``text_hash`` returns it.
        files: at least one; the first one's name begins the id.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", fold(Path(files[0].name).stem)).strip("-")[:40] or "kb"
    digest = text_hash(json.dumps([sha256, *(asdict(file) for file in files)]))
    return tuple(f"{slug}-{digest[:digits]}" for digits in _DIGITS)
