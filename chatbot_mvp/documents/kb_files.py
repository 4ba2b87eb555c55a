"""Join several files to one source text, and map offsets in it back to file and page."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from chatbot_mvp.documents.parsing import ParsedText, cut_at_paragraph

_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^ {0,3}#{1,5}(?=[ \t]+\S)")


@dataclass(frozen=True)
class KbFile:
    """A file of a knowledge base and its place in the source text."""

    name: str
    start: int
    """Offset of its first character in the source text, behind the heading with its name."""
    end: int
    """Offset behind its last character."""
    original_chars: int
    """Number of characters before any cut."""
    cut: bool
    """True if only a part of it was kept."""
    encoding: str
    """As in ``ParsedText``."""
    sha256: str
    """SHA-256 of its parsed text in UTF-8, in hex."""
    page_starts: tuple[int, ...] = ()
    """Offset in the source text of each page's first character; empty without pages."""
    empty_pages: int = 0
    """Number of pages without text."""


@dataclass(frozen=True)
class FilePlace:
    """File and page of a citation, and how old the file is."""

    file: str
    """Path of the document within its knowledge base."""
    page: int | None
    """Page number from 1; None for formats without pages."""
    version: int = 0
    """Number of the version that was cited; 0 if it is not known or was never the current one."""
    version_id: str = ""
    """Id of that version; "" if it is not known."""
    updated_at: str = ""
    """When the content of the file came, ISO 8601, UTC; "" if it is not known."""
    kb_name: str = ""
    """Name of its knowledge base, if several were asked and the file does not bear it already; else ""."""

    @property
    def title(self) -> str:
        """The file, behind the name of its knowledge base if several were asked."""
        return f"{self.kb_name}: {self.file}" if self.kb_name else self.file


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def join_sources(files: Sequence[tuple[str, ParsedText]], max_chars: int) -> tuple[str, tuple[KbFile, ...]]:
    """Return (the source text, the files that it contains).

    A single file becomes the source text unchanged. Several files each get a heading with their name, without its
    suffix, which begins the path of all their sections; their own headings move one level down. The text is cut after
    ``max_chars`` characters: the last file may be included in part, further files are omitted.
    """
    if len(files) == 1:
        [(name, parsed)] = files
        pages = [start for start in parsed.page_starts if start < len(parsed.text)]
        return parsed.text, (_file(name, parsed, 0, len(parsed.text), parsed.kb_truncated, pages),)
    parts: list[str] = []
    size = 0
    found: list[KbFile] = []
    for name, parsed in files:
        head = ("\n\n" if parts else "") + f"# {PurePath(name).stem}\n\n"
        room = max_chars - size - len(head)
        if room <= 0:
            break
        lowered, added = _lower_headings(parsed.text.rstrip())
        moved = [offset + bisect_right(added, offset - 1) for offset in parsed.page_starts]
        body = cut_at_paragraph(lowered, room)
        if not body.strip():
            break
        start = size + len(head)
        parts += head, body
        size = start + len(body)
        pages = [start + page for page in moved if page < len(body)]
        full = len(body) < len(lowered)
        found.append(_file(name, parsed, start, size, full or parsed.kb_truncated, pages))
        if full:
            break
    return "".join(parts), tuple(found)


def place_of(files: Sequence[KbFile], offset: int) -> FilePlace | None:
    """Return the file and page at an offset of the source text; None if it is before the first file."""
    row = bisect_right([file.start for file in files], offset) - 1
    if row < 0:
        return None
    file = files[row]
    return FilePlace(file.name, max(1, bisect_right(file.page_starts, offset)) if file.page_starts else None)


def _file(name: str, parsed: ParsedText, start: int, end: int, cut: bool, pages: Sequence[int]) -> KbFile:
    sha = text_hash(parsed.text)
    return KbFile(name, start, end, parsed.original_chars, cut, parsed.encoding, sha, tuple(pages), parsed.empty_pages)


def offset_in_file(text: str, files: Sequence[KbFile], file: KbFile, offset: int) -> int:
    """Return where a character of the source text is in the parsed text of its file.

    Args:
        text: the parsed text of the file.
        files: all files of the source text.
        offset: in the source text, from ``file.start`` to ``file.end``.
    """
    within = offset - file.start
    if len(files) > 1:
        _, added = _lower_headings(text.rstrip())
        within -= bisect_left([place + row for row, place in enumerate(added)], within)
    return min(max(within, 0), len(text))


def _lower_headings(text: str) -> tuple[str, list[int]]:
    """Return ``text`` with its Markdown headings one level deeper, and the offsets where a character was inserted."""
    if "#" not in text:
        return text, []
    lines: list[str] = []
    added: list[int] = []
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
    return "\n".join(lines), added
