"""Read PDF: liteparse finds headings, paragraphs, lists and tables; pypdf knows passwords and the outline."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted, clean_line
from chatbot_mvp.documents.reading.html import missing
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.pdf_page import lines_of
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
    except ImportError as error:
        raise missing("liteparse") from error
    count, outline = _looked_at(file)
    lost: Counter[str] = Counter()
    pages: list[list[Line]] = []
    chars = 0
    for first in range(1, count + 1, _AT_ONCE):
        last = min(count, first + _AT_ONCE - 1)
        parser = LiteParse(**_OPTIONS, target_pages=f"{first}-{last}", max_pages=count)
        found = {page.page_num: page for page in parser.parse(file.content).pages}
        for number in range(first, last + 1):
            pages.append(lines_of(found[number], lost) if number in found else [])
            chars += sum(len(line.text) for line in pages[-1])
        if chars > MAX_TEXT_CHARS:
            raise UploadError("upload_expands", name=file.name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
        file.on_pages(last)
    whole = compose(pages, outline)
    if not whole.text:
        raise UploadScanned(name=file.name, pages=count)
    return replace(whole, lost=dict(+lost))


def _looked_at(file: GivenFile) -> tuple[int, list[OutlineEntry]]:
    """Return (number of pages, outline) of a PDF."""
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
        return count, _outline(reader)
    except DependencyError as error:
        command = 'pip install "pypdf[crypto]"'
        raise MissingPackage(feature="An encrypted PDF", package="cryptography", command=command) from error
    except LimitReachedError as error:
        raise UploadError("upload_expands", name=name, limit_mb=75) from error
    except PyPdfError as error:
        raise UploadError(
            "upload_damaged", name=name, kind=".pdf", reason=str(error) or type(error).__name__
        ) from error


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
