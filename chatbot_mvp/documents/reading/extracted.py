"""What a reader of a format gives back, and the clean-up that all of them share."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MAX_TEXT_CHARS = 20_000_000
"""A reader gives up beyond this many characters: no document for people to read is as long."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\ufeff\ufffe\uffff]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


@dataclass(frozen=True)
class Extracted:
    """Clean text with its headings as Markdown headings."""

    text: str
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character; empty for a format without pages."""
    empty_pages: int = 0
    """Pages without text."""


def clean_line(text: str) -> str:
    """One line: accents composed, ligatures taken apart, control characters and soft hyphens gone, blanks single."""
    text = _CONTROL.sub("", text.translate(_LIGATURES).replace("\n", " "))
    return " ".join(unicodedata.normalize("NFC", text).split())


def clean_text(text: str) -> str:
    """The same for text of several lines; never more than one blank line."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").translate(_LIGATURES).replace("\xa0", " "))
    lines = [line.rstrip() for line in unicodedata.normalize("NFC", text).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
