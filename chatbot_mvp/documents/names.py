"""Clean names that come from other people: of uploaded files and of knowledge bases."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

MAX_NAME = 120
"""Maximum length of a name in characters."""

_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn")
"""Unicode categories of control characters, direction marks, lone surrogates and unassigned characters."""


def clean_name(name: str) -> str:
    """Return a name as one line without invisible characters, of at most MAX_NAME characters; may be "".

    Direction marks and characters of no width are removed because they let one name look like another.
    """
    spaced = re.sub(r"[\s\u2028\u2029]", " ", name)
    visible = "".join(char for char in spaced if unicodedata.category(char) not in _INVISIBLE)
    return " ".join(unicodedata.normalize("NFC", visible).split())[:MAX_NAME].strip()


def clean_file_name(name: str) -> str:
    """Return the last part of a path as ``clean_name`` does. A name that is too long keeps its suffix; may be ""."""
    last = re.split(r"[/\\]", name.strip())[-1]
    visible = "".join(char for char in last if unicodedata.category(char) not in _INVISIBLE)
    suffix = PurePosixPath(visible.strip()).suffix[:16].rstrip()
    cleaned = clean_name(visible)
    if len(" ".join(visible.split())) <= MAX_NAME or not suffix:
        return cleaned
    return cleaned[: MAX_NAME - len(suffix)].strip() + suffix
