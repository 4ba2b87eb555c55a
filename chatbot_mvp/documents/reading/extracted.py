"""The common result of all format readers, and the text clean-up that they share."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from chatbot_mvp.text import normalize

MAX_TEXT_CHARS = 20_000_000
"""Readers reject texts with more characters than this; no real document is as long."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\ud800-\udfff\ufeff\ufffe\uffff]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


@dataclass(frozen=True)
class Extracted:
    """Clean text with Markdown headings."""

    text: str
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character; empty for formats without pages."""
    empty_pages: int = 0
    """Number of pages without text."""


def clean_line(text: str) -> str:
    """Clean one line: compose accents (NFC), split ligatures, drop control characters and soft hyphens, join spaces."""
    text = _CONTROL.sub("", text.translate(_LIGATURES).replace("\n", " "))
    return " ".join(normalize("NFC", text).split())


def clean_text(text: str) -> str:
    """Clean a text of several lines likewise, and reduce successive blank lines to one."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").translate(_LIGATURES).replace("\xa0", " "))
    lines = [line.rstrip() for line in normalize("NFC", text).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
