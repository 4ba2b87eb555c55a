"""From an uploaded file's bytes to clean text, or to an error that says what to do."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePath

from chatbot_mvp.errors import UploadBinary, UploadEmpty, UploadTooLarge, UploadTypeUnsupported

TEXT_SUFFIXES = (".txt", ".md")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True)
class ParsedText:
    """The text of an upload, as it will be indexed and shown."""

    text: str
    encoding: str
    """``utf-8``, ``utf-8-sig``, ``latin-1`` or ``cp1252`` (its superset)."""
    original_chars: int
    """Characters before a cut."""
    kb_truncated: bool
    """True when the text was cut to the limit."""


def parse_upload(name: str, content: bytes, max_chars: int, max_mb: int) -> ParsedText:
    """Decode, normalise line ends and cut at a paragraph when the text is over ``max_chars`` characters.

    Raises:
        UploadTypeUnsupported, UploadTooLarge, UploadBinary, UploadEmpty
    """
    if PurePath(name).suffix.lower() not in TEXT_SUFFIXES:
        raise UploadTypeUnsupported(name=name, legal=", ".join(TEXT_SUFFIXES))
    if len(content) > max_mb * 1_000_000:
        raise UploadTooLarge(name=name, size_mb=round(len(content) / 1e6, 1), limit_mb=max_mb)
    text, encoding = _decode(name, content)
    # NFC: a letter and its accent as one character, whatever system the file comes from.
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise UploadEmpty(name=name)
    cut = cut_at_paragraph(text, max_chars)
    return ParsedText(cut, encoding, len(text), len(cut) < len(text))


def cut_at_paragraph(text: str, max_chars: int) -> str:
    """The longest beginning of at most ``max_chars`` characters that ends a paragraph.

    If that would give up more than half of what may be kept: that ends a line, else a word.
    """
    if len(text) <= max_chars:
        return text
    for boundary in ("\n\n", "\n", " "):
        end = text.rfind(boundary, 0, max_chars + len(boundary))
        if end >= max_chars // 2:
            return text[:end]
    return text[:max_chars]


def _decode(name: str, content: bytes) -> tuple[str, str]:
    if b"\x00" in content:
        raise UploadBinary(name=name)
    encoding = "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        # Latin-1 decodes anything, so control characters are what tells a binary file from an old text file.
        text, encoding = content.decode("latin-1"), "latin-1"
        if re.search(r"[\x80-\x9f]", text):
            text, encoding = _decode_windows(content, text)
    controls = len(_CONTROL.findall(text))
    if controls > max(2, len(text) // 1_000):
        raise UploadBinary(name=name)
    return text, encoding


def _decode_windows(content: bytes, fallback: str) -> tuple[str, str]:
    """Bytes 0x80-0x9f are control codes in Latin-1, but quotes and dashes in what Windows calls by that name."""
    try:
        return content.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return fallback, "latin-1"
