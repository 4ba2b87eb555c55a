"""A small file of each format, read as an upload is: does every reader work where the program is installed?"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.errors import ReaderFailed

_TEXT = "Every format is read."
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWN = f"BT /F 12 Tf 72 720 Td ({_TEXT}) Tj ET"
_PDF = f"""%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources 4 0 R /Contents 5 0 R >> endobj
4 0 obj << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> endobj
5 0 obj << /Length {len(_DRAWN)} >> stream
{_DRAWN}
endstream endobj
trailer << /Root 1 0 R >>
""".encode()
"""Without the table of the places of its objects, which PDFium then finds by itself."""


def _word() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        body = f"<w:body><w:p><w:r><w:t>{_TEXT}</w:t></w:r></w:p></w:body>"
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{_WORD}">{body}</w:document>')
    return made.getvalue()


def small_files() -> Mapping[str, bytes]:
    """Return suffix -> a file of that format, of each that the program reads by itself."""
    html = f"<html><p>{_TEXT}</p></html>"
    return {".txt": _TEXT.encode(), ".md": _TEXT.encode(), ".html": html.encode(), ".docx": _word(), ".pdf": _PDF}


def read_each_format() -> str:
    """Read a small file of each format, and return the formats.

    Raises:
        ChatbotError: one of them was not read.
    """

    def read(file: tuple[str, bytes]) -> str:
        suffix, content = file
        text = parse_upload(f"trial{suffix}", content, 1_000, 1).text
        if text.strip() != _TEXT:
            raise ReaderFailed(name=f"trial{suffix}", kind=suffix, reason=f"it read {text!r} for {_TEXT!r}")
        return suffix

    with ThreadPoolExecutor() as pool:
        return " ".join(pool.map(read, small_files().items()))
