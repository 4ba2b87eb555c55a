"""Clean names that come from other people: of uploaded files and of knowledge bases."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from chatbot_mvp.text import normalize, without_unseen

MAX_NAME = 120
"""Maximum length of a name in characters."""

_MAX_SUFFIX = 16


def clean_name(name: str) -> str:
    """Return a name as one line without invisible characters, of at most MAX_NAME characters; may be "".

    Direction marks and characters of no width are removed because they let one name look like another.
    """
    return _visible(name)[:MAX_NAME].strip()


def clean_file_name(name: str) -> str:
    """Return the last part of a path as ``clean_name`` does. A name that is too long keeps its suffix; may be ""."""
    visible = _visible(re.split(r"[/\\]", name.strip())[-1])
    if len(visible) <= MAX_NAME:
        return visible
    suffix = PurePosixPath(visible).suffix[:_MAX_SUFFIX].strip()
    return visible[: MAX_NAME - len(suffix)].strip() + suffix


def clean_path(path: str) -> str:
    """Return a path of folders and a file name, each as ``clean_file_name`` gives it; may be "".

    Of a path that is absolute or leads upwards, only the name of the file counts.
    """
    parts = re.split(r"[/\\]", path.strip())
    if not parts[0] or ":" in parts[0] or ".." in parts:
        return clean_file_name(path)
    return "/".join(name for name in map(clean_file_name, parts) if name.strip("."))


def _visible(name: str) -> str:
    return " ".join(normalize("NFC", without_unseen(name)).split())
