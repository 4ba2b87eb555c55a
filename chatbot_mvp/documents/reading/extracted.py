"""The common result of all format readers, the text clean-up that they share, and pages whose text is read later."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chatbot_mvp.text import normalize

MAX_TEXT_CHARS = 20_000_000
"""Readers reject texts with more characters than this; no real document is as long."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\ud800-\udfff\ufeff\ufffe\uffff]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}

RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")


@dataclass(frozen=True)
class Extracted:
    """Clean text with Markdown headings."""

    text: str
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character; empty for formats without pages."""
    empty_pages: int = 0
    """Number of pages without text."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """What of the file is not in the text -> how much of it: words ``hidden``, ``struck`` out, in ``comments``, in
    ``menus`` of web pages, in ``margins`` (headers, footers of Word) and in ``placeholders`` of fields; ``pictures``;
    ``charts`` and ``embedded`` files; ``bytes`` that are no characters; pages whose font is ``unreadable``; words of
    ``metadata`` that are none of ``about``."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the file says of itself: ``title``, ``author``, ``source``, ``created`` (ISO 8601), ``tags`` (list)."""


def clean_line(text: str) -> str:
    """Clean one line: compose accents (NFC), split ligatures, drop control characters and soft hyphens, join spaces."""
    text = _CONTROL.sub("", text.translate(_LIGATURES).replace("\n", " "))
    return " ".join(normalize("NFC", text).split())


def clean_text(text: str) -> str:
    """Clean a text of several lines likewise, and reduce successive blank lines to one."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n").translate(_LIGATURES).replace("\xa0", " "))
    lines = [line.rstrip() for line in normalize("NFC", text).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def raised(number: str, before: str, *, lowered: bool = False, note: bool = False) -> str:
    """Return a raised number as it is written behind a text: apart from a number or a word, of which it is no part.

    Args:
        lowered: it is lowered, behind or before a number.
        note: it links to one, so that it is no exponent.
    """
    if lowered:
        return f" {number.translate(_LOWERED)}" if before.strip() else number.translate(_LOWERED)
    small = number.translate(RAISED)
    if not note and re.search(r"(?:^|[^\w])[^\W\d_]{1,3}$", before):
        return small  # of a unit
    if not note and re.search(r"(?:^|\D)(?:10|2)$", before):
        return f"^{number}"
    return f" {small}" if before.strip() else small


def joined(pages: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    """Return the texts of pages as one, each as paragraphs of its own, and the offset at which each begins."""
    whole = ""
    starts: list[int] = []
    for page in pages:
        whole += "\n\n" if whole and page else ""
        starts.append(len(whole))
        whole += page
    return whole, tuple(starts)


def empty_pages(found: Extracted) -> list[int]:
    """Return the numbers, from 1, of the pages without text."""
    return [number for number, text in enumerate(_pages(found), 1) if not text.strip()]


def with_pages(found: Extracted, texts: Mapping[int, str]) -> Extracted:
    """Return a document in which pages without text have a text of their own, each as paragraphs of its own.

    Args:
        texts: page number from 1 -> its text, which is cleaned; numbers of pages with text are ignored.
    """
    whole, left = "", 0
    starts: list[int] = []
    apart = False  # whether the next text must begin a paragraph
    for number, text in enumerate(_pages(found), 1):
        given = "" if text.strip() else clean_text(texts.get(number, ""))
        piece = given or text
        if piece.strip() and whole.strip() and (given or apart):
            whole = whole.rstrip() + "\n\n"
        if piece.strip():  # a page without text begins where the next one with text does
            starts.extend([len(whole)] * (number - len(starts)))
        whole += piece
        left += not piece.strip()
        apart = bool(given) or (apart and not piece.strip())
    starts.extend([len(whole)] * (len(found.page_starts) - len(starts)))
    return replace(found, text=whole, page_starts=tuple(starts), empty_pages=left)


def _pages(found: Extracted) -> list[str]:
    bounds = [*found.page_starts, len(found.text)]
    return [found.text[start:end] for start, end in itertools.pairwise(bounds)]
