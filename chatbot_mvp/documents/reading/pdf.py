"""Read PDF: liteparse finds headings, paragraphs, lists and tables; pypdf knows passwords and the outline."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted, clean_line
from chatbot_mvp.documents.reading.html import missing
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.errors import MissingPackage, UploadError, UploadScanned

if TYPE_CHECKING:
    from pypdf import PdfReader

_MAX_OUTLINE = 5_000
_MAX_DEPTH = 6
_AT_ONCE = 20
"""Pages that are read before the next ones get their time."""
_OPTIONS: dict[str, Any] = {
    "ocr_enabled": False,
    "quiet": True,
    "num_workers": 1,
    "image_mode": "off",
    "extract_blocks": True,
    "extract_text_metadata": True,
    "extract_vector_graphics": True,
    "extract_form_fields": True,
    "extract_links": False,
    "continue_on_page_error": True,
    "include_complexity": True,
}


def read(file: GivenFile) -> Extracted:
    """Read the text of a PDF of at most ``file.max_pages`` pages.

    Raises:
        MissingPackage: liteparse or pypdf is not installed, or cryptography for an encrypted file.
        UploadScanned: no page has text.
        UploadError (upload_encrypted, upload_too_many_pages, upload_expands, upload_damaged): the file cannot be read.
    """
    try:
        from liteparse import LiteParse

        from chatbot_mvp.documents.reading.pdf_glyphs import Document
        from chatbot_mvp.documents.reading.pdf_page import lines_of
    except ImportError as error:
        raise missing("liteparse") from error
    lost: Counter[str] = Counter()

    def pages(reader: PdfReader) -> Iterator[list[Line]]:
        count, drawn = len(reader.pages), Document(file.content)
        for first in range(1, count + 1, _AT_ONCE):
            last = min(count, first + _AT_ONCE - 1)
            parser = LiteParse(**_OPTIONS, target_pages=f"{first}-{last}", max_pages=count)
            found = {page.page_num: page for page in parser.parse(file.content).pages}
            for number in range(first, last + 1):
                yield lines_of(found[number], drawn.glyphs(number), lost) if number in found else []

    return replace(_read(file, pages), lost=dict(+lost))


def read_plain(file: GivenFile) -> Extracted:
    """Read likewise with pypdf, which is Python alone. It finds no tables, and loses spaces that are only distances."""
    return _read(file, lambda reader: map(_lines, reader.pages))


def _read(file: GivenFile, pages_of: Callable[[PdfReader], Iterable[list[Line]]]) -> Extracted:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, LimitReachedError, PyPdfError
    except ImportError as error:
        raise missing("pypdf") from error
    name = file.name
    try:
        reader = PdfReader(io.BytesIO(file.content))
        # Many files restrict only printing or copying: their password for reading is empty.
        if reader.is_encrypted and not reader.decrypt(""):
            raise UploadError("upload_encrypted", name=name)
        count = len(reader.pages)
        if count > file.max_pages:
            raise UploadError("upload_too_many_pages", name=name, pages=count, limit=file.max_pages)
        pages: list[list[Line]] = []
        chars = 0
        for page in pages_of(reader):
            pages.append(page)
            chars += sum(len(line.text) for line in page)
            if chars > MAX_TEXT_CHARS:
                raise UploadError("upload_expands", name=name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
            file.on_pages(len(pages))
        outline = _outline(reader)
    except DependencyError as error:
        command = 'pip install "pypdf[crypto]"'
        raise MissingPackage(feature="An encrypted PDF", package="cryptography", command=command) from error
    except LimitReachedError as error:
        raise UploadError("upload_expands", name=name, limit_mb=75) from error
    except PyPdfError as error:
        raise UploadError(
            "upload_damaged", name=name, kind=".pdf", reason=str(error) or type(error).__name__
        ) from error
    found = compose(pages, outline)
    if not found.text:
        raise UploadScanned(name=name, pages=count)
    return found


def _lines(page: Any) -> list[Line]:
    """Return the lines of a page in the order of its content stream."""
    lines: list[Line] = []
    parts: list[tuple[str, float, bool]] = []  # (text, size in points, bold) of the current line
    place = (0.0, 0.0)

    def close() -> None:
        text = clean_line("".join(part for part, _, _ in parts))
        if text:
            sizes = [(len(part.strip()), size, bold) for part, size, bold in parts]
            most = max(sizes)
            lines.append(Line(text, round(most[1], 1), all(b for n, _, b in sizes if n), place[0], place[1]))
        parts.clear()

    def visit(text: str, cm: list[float], tm: list[float], font: Any, size: float) -> None:
        nonlocal place
        if not text:
            return
        scale = math.sqrt(abs((tm[0] * tm[3] - tm[1] * tm[2]) * (cm[0] * cm[3] - cm[1] * cm[2]))) or 1.0
        points = abs(float(size or 1.0)) * scale
        x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        if parts and abs(y - place[1]) > 0.5 * max(points, 1.0):  # a smaller step is a subscript or superscript
            close()
        if not parts:
            place = (x, y)
        bold = "bold" in str((font or {}).get("/BaseFont", "")).lower()
        pieces = text.split("\n")
        for index, piece in enumerate(pieces):
            if piece:
                parts.append((piece, points, bold))
            if index + 1 < len(pieces):
                close()
                place = (x, y)

    page.extract_text(visitor_text=visit)
    close()
    return lines


def _outline(reader: PdfReader) -> list[OutlineEntry]:
    """Return the bookmarks as a flat list; empty if the outline is damaged, since the text does not depend on it."""
    entries: list[OutlineEntry] = []

    def walk(items: list[Any], level: int) -> None:
        for item in items:
            if isinstance(item, list):
                if level < _MAX_DEPTH:
                    walk(item, level + 1)
            elif len(entries) < _MAX_OUTLINE:
                page = reader.get_destination_page_number(item)
                if page is not None:
                    entries.append(OutlineEntry(clean_line(str(item.title)), page, level))

    try:
        walk(list(reader.outline), 1)
    except Exception:  # noqa: BLE001 -- anything can be wrong in a hostile or broken outline
        return []
    return entries
