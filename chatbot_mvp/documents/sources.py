"""One source text out of several files, and back: which file, and which page of it, a place in the text is of."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.documents.parsing import ParsedText, cut_at_paragraph

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^ {0,3}#{1,5}(?=[ \t]+\S)")


@dataclass(frozen=True)
class KbFile:
    """A file of a knowledge base and its place in the source text."""

    name: str
    start: int
    """Offset of its first character, the heading with its name left out."""
    end: int
    original_chars: int
    """Characters before a cut."""
    cut: bool
    """Whether not all of it was kept."""
    encoding: str
    """As in ``ParsedText``."""
    sha256: str
    """Of its whole text in UTF-8."""
    page_starts: tuple[int, ...] = ()
    """Offset in the source text of each page's first character; empty without pages."""
    empty_pages: int = 0
    """Pages without text."""


@dataclass(frozen=True)
class Place:
    """Where in the files a citation is from."""

    file: str
    page: int | None
    """From 1; None for a format without pages."""


def text_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def join_sources(files: Sequence[tuple[str, ParsedText]], max_chars: int) -> tuple[str, tuple[KbFile, ...]]:
    """(the source text, the files that found room in it).

    A single file is its own text. Of several, each stands under a heading with its name, so that this begins every
    path of sections; their own headings are one level deeper. What is over ``max_chars`` characters is left out, from
    the end of the last file that fits in part on.
    """
    if len(files) == 1:
        [(name, parsed)] = files
        pages = [start for start in parsed.page_starts if start < len(parsed.text)]
        return parsed.text, (_file(name, parsed, 0, len(parsed.text), parsed.kb_truncated, pages),)
    text = ""
    found: list[KbFile] = []
    for name, parsed in files:
        head = ("\n\n" if text else "") + f"# {name}\n\n"
        room = max_chars - len(text) - len(head)
        if room <= 0:
            break
        lowered, moved = _lower_headings(parsed.text.rstrip(), parsed.page_starts)
        body = cut_at_paragraph(lowered, room)
        if not body.strip():
            break
        start = len(text) + len(head)
        text += head + body
        pages = [start + page for page in moved if page < len(body)]
        full = len(body) < len(lowered)
        found.append(_file(name, parsed, start, len(text), full or parsed.kb_truncated, pages))
        if full:
            break
    return text, tuple(found)


def place_of(files: Sequence[KbFile], offset: int) -> Place | None:
    """The file, and its page, that a place in the source text is of; None before the first file."""
    row = bisect_right([file.start for file in files], offset) - 1
    if row < 0:
        return None
    file = files[row]
    return Place(file.name, max(1, bisect_right(file.page_starts, offset)) if file.page_starts else None)


def _file(name: str, parsed: ParsedText, start: int, end: int, cut: bool, pages: Sequence[int]) -> KbFile:
    sha = text_hash(parsed.text)
    return KbFile(name, start, end, parsed.original_chars, cut, parsed.encoding, sha, tuple(pages), parsed.empty_pages)


def _lower_headings(text: str, offsets: Sequence[int]) -> tuple[str, list[int]]:
    """``text`` with its Markdown headings one level deeper, and where ``offsets`` have gone."""
    lines: list[str] = []
    added: list[int] = []  # offsets in ``text`` where a character was put in
    position = 0
    fence = ""
    for line in text.split("\n"):
        if found := _FENCE.match(line):
            fence = "" if fence == found.group(1) else fence or found.group(1)
        if not fence and _HEADING.match(line):
            added.append(position)
            lines.append(f"#{line.lstrip()}" if line.startswith("#") else line.replace("#", "##", 1))
        else:
            lines.append(line)
        position += len(line) + 1
    return "\n".join(lines), [offset + bisect_right(added, offset - 1) for offset in offsets]
