"""Read PDF: liteparse finds pieces of text and tables; PDFium knows passwords, the outline and single characters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

from liteparse import LiteParse
from pypdfium2 import PdfiumError

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted, clean_line
from chatbot_mvp.documents.reading.pdf_glyphs import Document
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.pdf_page import lines_of
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.errors import UploadError, UploadScanned

_MAX_OUTLINE = 5_000
_MAX_DEPTH = 6
_NEEDS_PASSWORD = 4
"""PDFium's number of that error."""
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
        UploadScanned: no page has text.
        UploadError (upload_encrypted, upload_too_many_pages, upload_expands, upload_damaged): the file cannot be read.
    """
    name = file.name
    try:
        # Many files restrict only printing or copying: their password for reading is empty.
        document = Document(file.content)
    except PdfiumError as error:
        if error.err_code == _NEEDS_PASSWORD:
            raise UploadError("upload_encrypted", name=name) from error
        raise UploadError("upload_damaged", name=name, kind=".pdf", reason=str(error).rstrip(".")) from error
    count = len(document)
    if count > file.max_pages:
        raise UploadError("upload_too_many_pages", name=name, pages=count, limit=file.max_pages)
    lost: Counter[str] = Counter()
    pages: list[list[Line]] = []
    chars = 0
    for first in range(1, count + 1, _AT_ONCE):
        last = min(count, first + _AT_ONCE - 1)
        parser = LiteParse(**_OPTIONS, target_pages=f"{first}-{last}", max_pages=count)
        found = {page.page_num: page for page in parser.parse(file.content).pages}
        for number in range(first, last + 1):
            pages.append(lines_of(found[number], document.glyphs(number), lost) if number in found else [])
            chars += sum(len(line.text) for line in pages[-1])
            if chars > MAX_TEXT_CHARS:
                raise UploadError("upload_expands", name=name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
            file.on_pages(number)
    whole = compose(pages, _outline(document))
    if not whole.text:
        raise UploadScanned(name=name, pages=count)
    return replace(whole, lost=dict(+lost))


def _outline(document: Document) -> list[OutlineEntry]:
    """Return the bookmarks as a flat list; empty if the outline is damaged, since the text does not depend on it."""
    try:
        marks = islice(document.outline(_MAX_OUTLINE, _MAX_DEPTH), _MAX_OUTLINE)
        return [OutlineEntry(clean_line(title), page, _MAX_DEPTH - below + 1) for title, page, below in marks]
    except Exception:  # noqa: BLE001 -- anything can be wrong in a hostile or broken outline
        return []
