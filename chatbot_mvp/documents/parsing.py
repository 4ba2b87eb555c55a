"""From an uploaded file's bytes to clean text, or to an error that says what to do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.sandbox import read_apart
from chatbot_mvp.errors import (
    UploadBinary,
    UploadDamaged,
    UploadEmpty,
    UploadEncrypted,
    UploadTooLarge,
    UploadTypeUnsupported,
    UploadWrongSuffix,
)

TEXT_SUFFIXES = (".txt", ".md")
SUFFIXES = (*TEXT_SUFFIXES, ".pdf", ".docx", ".html", ".htm")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_HTML_START = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclass(frozen=True)
class ParsedText:
    """The text of an upload, as it will be indexed and shown."""

    text: str
    encoding: str
    """``utf-8``, ``utf-8-sig``, ``latin-1`` or ``cp1252`` (its superset); for other formats their suffix."""
    original_chars: int
    """Characters before a cut."""
    kb_truncated: bool
    """True when the text was cut to the limit."""
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character, those that the cut took away included; empty without pages."""
    empty_pages: int = 0
    """Pages without text, of a PDF."""


def parse_upload(
    name: str,
    content: bytes,
    max_chars: int,
    max_mb: int,
    max_pages: int = 500,
    check: Callable[[], None] = lambda: None,
) -> ParsedText:
    """Read the text and cut it at a paragraph when it is over ``max_chars`` characters.

    ``check`` is called now and then while a PDF, a Word document or a page is read; what it raises ends the reading.

    Raises:
        UploadError: the file cannot be used.
        MissingPackage: the reader of its format is not installed.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise UploadTypeUnsupported(name=name, legal=", ".join(SUFFIXES))
    if len(content) > max_mb * 1_000_000:
        raise UploadTooLarge(name=name, size_mb=round(len(content) / 1e6, 1), limit_mb=max_mb)
    if not content.strip():
        raise UploadEmpty(name=name)
    kind = _checked_kind(name, suffix, content)
    if kind in TEXT_SUFFIXES:
        text, encoding = _decode(name, content)
        # NFC: a letter and its accent as one character, whatever system the file comes from.
        text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
        found = Extracted(text)
    else:
        encoding = kind
        found = read_apart(kind, name, content, max_pages, check)
    if not found.text.strip():
        raise UploadEmpty(name=name)
    cut = cut_at_paragraph(found.text, max_chars)
    truncated = len(cut) < len(found.text)
    return ParsedText(cut, encoding, len(found.text), truncated, found.page_starts, found.empty_pages)


def _checked_kind(name: str, suffix: str, content: bytes) -> str:
    """What the file is by its first bytes, which must be what its name says.

    Raises:
        UploadWrongSuffix, UploadTypeUnsupported, UploadEncrypted, UploadDamaged
    """
    said = ".html" if suffix == ".htm" else suffix
    found = said
    # Some programs write a little before a PDF's mark; a text may speak of it.
    if content.lstrip().startswith(b"%PDF-") or (said == ".pdf" and b"%PDF-" in content[:1_024]):
        found = ".pdf"
    elif content.startswith(b"PK\x03\x04"):
        if b"word/" not in content:
            raise UploadTypeUnsupported(name=name, legal=", ".join(SUFFIXES))
        found = ".docx"
    elif content.startswith(_OLE):
        # What Word writes with a password, and what it wrote before 2007.
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise UploadEncrypted(name=name)
        raise UploadTypeUnsupported(name=name, legal=", ".join(SUFFIXES))
    elif said in TEXT_SUFFIXES and _HTML_START.match(content[:4_096]):
        found = ".html"
    elif said in (".pdf", ".docx"):
        if b"\x00" in content[:4_096]:
            raise UploadDamaged(name=name, kind=said, reason="it does not begin as such a file does")
        found = ".html" if _HTML_START.match(content[:4_096]) else ".txt"
    if found != said:
        raise UploadWrongSuffix(name=name, found=found)
    return found


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
