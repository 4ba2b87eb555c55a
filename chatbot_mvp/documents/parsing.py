"""Convert the bytes of an uploaded file to clean text, or raise an error that says what to do."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from chatbot_mvp.documents.chunking import split_sections
from chatbot_mvp.documents.names import clean_file_name
from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted, empty_pages, with_pages
from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.readers import (
    MARKDOWN,
    SUFFIXES,
    TEXT_SUFFIXES,
    is_own,
    page_readers_of,
    reader_of,
    reading_name,
)
from chatbot_mvp.documents.reading.sandbox import read_apart, read_pages_apart
from chatbot_mvp.errors import UploadError, UploadScanned
from chatbot_mvp.text import normalize

MAX_HEADINGS = 20_000
"""Each heading begins a chunk. Ordinary documents have one for a thousand characters."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_HTML_START = re.compile(
    # A comment is matched only once, whatever follows: otherwise many comments would be split in all possible ways.
    rb"^(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?>(?:<!--.*?-->\s*)*+)<(?:!doctype\s+html|html)\b",
    re.I | re.S,
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PARTS = ((b"word/", ".docx"), (b"xl/", ".xlsx"), (b"ppt/", ".pptx"))
"""What the directory of a packed file has -> its format."""
_MIMES = (
    (b"opendocument.text", ".odt"),
    (b"opendocument.spreadsheet", ".ods"),
    (b"opendocument.presentation", ".odp"),
    (b"application/epub+zip", ".epub"),
)
_SAVED_AS = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx", ".msg": ".eml", ".pages": ".docx"}
_SAVED_AS |= {".wpd": ".docx", ".wps": ".docx", ".numbers": ".xlsx", ".key": ".pptx"}
"""Formats that nothing here reads -> the one that their program can save."""
_STREAMS = (("WordDocument", ".doc"), ("PowerPoint Document", ".ppt"), ("__substg1.0_", ".msg"), ("Workbook", ".xls"))
"""Parts of a file of Office before 2007 -> its format."""
_MARKED = re.compile(r"\A(?:---|\+\+\+)|<!--|<table\b|<del\b|<s\b|<strike\b|~~|\n(?:=++|--++)[ \t]*+(?:\n|\Z)", re.I)
"""What a Markdown file may have that is no text as it stands."""
_RULED = re.compile(
    r"(?:\A|(?<=\n\n))([^\n]{1,80}+\n)?(?![ \t>#*+|-])(?=[^\n]*\w)([^\n]{1,80}(?<![ \t.,;:]))[ \t]*+\n"
    r"([=-])\3{2,}+[ \t]*+(?=\n|\Z)"
)
"""A title of a text file, with a line above it that may be another or a rule, and the rule below it."""
_NAMED = re.compile(r"^([^\n]++)\n[ \t]*+(?:[-=─]{3,}+[ \t]*+)++(?=\n)", re.M)
"""The names of the columns of a table of a text file, with the rule below them."""
_CELL = re.compile(r"[^ \t]+(?: [^ \t]+)*")
_RULE = re.compile(r"[ \t]*(?:[-=─]{3,}+[ \t]*+)++")
_TITLE = re.compile(r"(?:\d[\d.]*+[.)]?+ ++)?+[^\W\d_](?:(?![\t|]|  ).){,68}[^\W_]")
_OPENS = re.compile(r"[\"'«“¿¡(]*+[^\W\d_]")
_ENDS = re.compile(r"[.!?…:][\"'»”)\]]*\s*\Z")
_TITLE_WORDS, _SENTENCE_WORDS = 10, 4
_FULL = 0.8
"""Share of the longest line up to which a line has room for the next one's first word, so that it is not wrapped."""


@dataclass(frozen=True)
class ParsedText:
    """The text of an upload as it is indexed and displayed."""

    text: str
    encoding: str
    """Of text files, as in ``utf-8`` or ``cp1252``; the suffix for other formats."""
    original_chars: int
    """Number of characters before the cut."""
    kb_truncated: bool
    """True if the text was cut to the limit."""
    page_starts: tuple[int, ...] = ()
    """Offset of each page's first character, including pages that were cut off; empty for formats without pages."""
    empty_pages: int = 0
    """Number of PDF pages without text."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """What of the file is not in the text, as in ``Extracted.lost``."""
    reader: str = ""
    """Name and version of what read it; "" for a text file."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the file says of itself, as in ``Extracted.about``."""


def parse_upload(
    name: str,
    content: bytes,
    max_chars: int,
    max_mb: int,
    max_pages: int = 3_000,
    check: Callable[[], None] = lambda: None,
    on_page: Callable[[int, int], None] = lambda done, total: None,
    reader: str = "",
) -> ParsedText:
    """Read the text of a file, and cut it at a paragraph if it is longer than ``max_chars`` characters.

    Args:
        name: file name; its suffix must match the content.
        max_mb: limit of the file's size in megabytes (10^6 bytes).
        max_pages: limit of a PDF's pages.
        check: called a few times a second while a file is read by a reader; an exception from it ends the reading.
        on_page: called with (pages read, pages to read) while an added reader reads the pages without text.
        reader: as in ``readers.reading_of``.

    Raises:
        UploadError: the file cannot be used.
        ReaderFailed: it cannot work here, whatever the file.
    """
    name = clean_file_name(name)
    suffix = PurePath(name).suffix.lower()
    if suffix in _SAVED_AS and suffix not in SUFFIXES:
        raise UploadError("upload_save_as", name=name, found=suffix, kind=_SAVED_AS[suffix])
    if suffix not in SUFFIXES:
        raise UploadError("upload_type_unsupported", name=name, legal=", ".join(SUFFIXES))
    if len(content) > max_mb * 1_000_000:
        raise UploadError("upload_too_large", name=name, size_mb=round(len(content) / 1e6, 1), limit_mb=max_mb)
    if not content.strip():
        raise UploadError("upload_empty", name=name)
    kind = _checked_kind(name, suffix, content)
    said = ""
    if kind in TEXT_SUFFIXES:
        text, encoding, damaged = _decode(name, content)
        # NFC makes a letter and its accent one character, whatever system the file comes from.
        text = normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
        text = _with_marks(text) if kind == ".txt" else text
        found = Extracted(text, lost={"bytes": damaged} if damaged else {})
        if kind == ".md" and _MARKED.search(text):
            found = read_apart(MARKDOWN, name, text.encode("utf-8", "surrogatepass"), max_pages, check)
    else:
        encoding = kind
        said = reading_name(kind, reader)
        found = _read(kind, name, content, max_pages, check, on_page, reader)
    if not found.text.strip():
        raise UploadError("upload_empty", name=name)
    cut = cut_at_paragraph(found.text, max_chars)
    headings = len(split_sections(cut))
    if headings > MAX_HEADINGS:
        raise UploadError("upload_too_many_headings", name=name, headings=headings, limit=MAX_HEADINGS)
    truncated = len(cut) < len(found.text)
    whole = len(found.text)
    places = found.page_starts, found.empty_pages
    return ParsedText(cut, encoding, whole, truncated, *places, dict(found.lost), said, dict(found.about))


def _read(
    kind: str,
    name: str,
    content: bytes,
    max_pages: int,
    check: Callable[[], None],
    on_page: Callable[[int, int], None],
    reader: str,
) -> Extracted:
    """Read a file that is not plain text, and the pages on which its reader finds no text, if something reads them."""
    readers, scanned = page_readers_of(kind), None
    try:
        found = read_apart(kind, name, content, max_pages, check, reader=reader)
    except UploadScanned as error:
        count = int(str(error.params["pages"]))
        found, scanned = Extracted("", (0,) * count, count), error
    for of_pages in readers:
        if pages := empty_pages(found):
            found = with_pages(found, read_pages_apart(of_pages, name, content, pages, check, on_page))
    if scanned is not None and not found.text.strip():
        raise scanned
    return found


def _checked_kind(name: str, suffix: str, content: bytes) -> str:
    """Return the suffix of the reader's format as detected from the file's content, which must match its name."""
    reader = reader_of(suffix)
    said = reader.kind if reader else suffix
    if reader and not is_own(reader):
        return said  # only its own reader knows how such a file begins
    found = _found_kind(name, said, content)
    if found not in (said, "") and reader_of(found) is not (reader or ""):
        raise UploadError("upload_wrong_suffix", name=name, found=found)
    if not found and said in _PACKED:
        raise UploadError("upload_damaged", name=name, kind=said, reason="it does not begin as such a file does")
    return said


_PACKED = (".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".epub")


def _found_kind(name: str, said: str, content: bytes) -> str:
    """Return the suffix that fits a file's content; "" if several may."""
    # Some programs write a few bytes before the PDF marker. A text file may mention the marker, so check its suffix.
    if content.lstrip().startswith(b"%PDF-") or (said == ".pdf" and b"%PDF-" in content[:1_024]):
        return ".pdf"
    if content.startswith(b"PK\x03\x04"):
        found = next((kind for mime, kind in _MIMES if mime in content[30:200]), "")
        found = found or next((kind for part, kind in _PARTS if part in content), "")
        if not found:
            raise UploadError("upload_type_unsupported", name=name, legal=", ".join(SUFFIXES))
        return found
    if content.startswith(_OLE):
        # OLE container: a file of Office with a password, or one in a format before 2007.
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise UploadError("upload_encrypted", name=name)
        found = next((kind for part, kind in _STREAMS if part.encode("utf-16-le") in content), "")
        if found in _SAVED_AS:
            raise UploadError("upload_save_as", name=name, found=found, kind=_SAVED_AS[found])
        if not found:
            raise UploadError("upload_type_unsupported", name=name, legal=", ".join(SUFFIXES))
        return found
    if content.startswith(b"{\\rtf"):
        return ".rtf"
    if said in (*TEXT_SUFFIXES, *_PACKED) and _HTML_START.match(content[:4_096]):
        return ".html"
    return ".txt" if said in _PACKED and b"\x00" not in content[:4_096] else "" if said in _PACKED else said


def cut_at_paragraph(text: str, max_chars: int) -> str:
    """Cut a text to at most ``max_chars`` characters, at the end of a paragraph if possible.

    If that keeps less than half of ``max_chars``, cut at the end of a line, else of a word.
    """
    if len(text) <= max_chars:
        return text
    for boundary in ("\n\n", "\n", " "):
        end = text.rfind(boundary, 0, max_chars + len(boundary))
        if end >= max_chars // 2:
            return text[:end]
    return text[:max_chars]


def _decode(name: str, content: bytes) -> tuple[str, str, int]:
    text, encoding, damaged = decode(content)
    # Old encodings decode any bytes, so only control characters distinguish a binary file from a text file.
    if "\x00" in text or len(_CONTROL.findall(text)) > max(2, len(text) // 1_000):
        raise UploadError("upload_binary", name=name)
    return text.removeprefix("\ufeff"), encoding, damaged


def _with_marks(text: str) -> str:
    """Mark the headings and tables of a plain text, which only rules, spaces and lines of their own show."""
    return "\n\n".join(map(_titles_apart, _RULED.sub(_heading, _tables_as_rows(text)).split("\n\n")))


def _tables_as_rows(text: str) -> str:
    """Write as rows what stands in columns, two spaces or a tab apart, below their names and a rule.

    A cell begins or ends where its name does, unless a tab says where it begins: prose and empty cells make no rows.
    """
    parts: list[str] = []
    done = 0
    for found in _NAMED.finditer(text):
        names, end = list(_CELL.finditer(found[1])), found.end()
        before = text[text.rfind("\n", 0, max(found.start() - 1, 0)) + 1 : found.start()].rstrip("\n")
        inside = len(_CELL.findall(before)) > 1 and not _RULE.fullmatch(before)
        if found.start() < done or len(names) < 2 or inside or any(name[0][-1] in ".!?" for name in names):
            continue
        rows = [names]
        while end < len(text):
            stop = len(text) if (line_end := text.find("\n", end + 1)) < 0 else line_end
            cells = list(_CELL.finditer(line := text[end + 1 : stop]))
            if len(cells) != len(names) or _RULE.fullmatch(line):
                break
            pairs = zip(names, cells, strict=True)
            if "\t" not in line and not all(a.start() == b.start() or a.end() == b.end() for a, b in pairs):
                break
            rows.append(cells)
            end = stop
        if len(rows) > 1:
            apart = text[end : end + 2] not in ("", "\n", "\n\n")
            above = text[done : found.start()].rstrip()
            table = rows_of([[Cell(cell[0]) for cell in row] for row in rows], 1)
            parts += [f"{above}\n\n" if above or done else "", table, "\n" * apart]
            done = end
    return "".join([*parts, text[done:]])


def _heading(ruled: re.Match[str]) -> str:
    above, mark = (ruled[1] or "").strip("=- \t\n"), "#" if ruled[3] == "=" else "##"
    heading = f"{mark} {ruled[2]}\n"
    return f"{above}\n\n{heading}" if above else heading


def _titles_apart(paragraph: str) -> str:
    """Put an empty line around each title that stands directly above the sentence it names.

    A line of a wrapped paragraph, of a verse, a list or an address is none.
    """
    lines = paragraph.split("\n")
    if len(lines) < 2 or not _ENDS.search(paragraph):
        return paragraph
    widest = max(map(len, lines))

    def is_title(row: int) -> bool:
        line, below = lines[row], lines[row + 1]
        words = below.split()
        if not (_TITLE.fullmatch(line) and _is_capital(line.lstrip("0123456789.) ")) and _is_capital(below)):
            return False
        above = lines[row - 1].strip() if row else ""
        if (above and not _ENDS.search(above)) or len(line.split()) > _TITLE_WORDS or len(words) < _SENTENCE_WORDS:
            return False
        rest = itertools.takewhile(lambda pair: not _ENDS.search(pair[0]), itertools.pairwise(lines[row + 1 :]))
        return len(line) + 1 + len(words[0]) <= _FULL * widest and not any(_is_capital(after) for _, after in rest)

    titles = [row for row in range(len(lines) - 1) if is_title(row)]
    for row in reversed(titles):
        lines[row : row + 1] = ["", lines[row], ""][not row :]
    return "\n".join(lines)


def _is_capital(line: str) -> bool:
    found = _OPENS.match(line)
    return found is not None and found.group()[-1].isupper()
