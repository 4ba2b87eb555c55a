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


def _word() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        body = f"<w:body><w:p><w:r><w:t>{_TEXT}</w:t></w:r></w:p></w:body>"
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{_WORD}">{body}</w:document>')
    return made.getvalue()


def _pdf() -> bytes:
    drawn = f"BT /F 12 Tf 72 720 Td ({_TEXT}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 4 0 R >> >> /Contents 5 0 R >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
    )
    made, places = "%PDF-1.4\n", ["0000000000 65535 f \n"]
    for number, content in enumerate(objects, 1):
        places.append(f"{len(made):010} 00000 n \n")
        made += f"{number} 0 obj\n{content}\nendobj\n"
    table = f"xref\n0 {len(places)}\n{''.join(places)}trailer\n<< /Size {len(places)} /Root 1 0 R >>\n"
    return f"{made}{table}startxref\n{len(made)}\n%%EOF\n".encode()


def small_files() -> Mapping[str, bytes]:
    """Return suffix -> a file of that format, of each that the program reads by itself."""
    text = _TEXT.encode()
    return {
        ".txt": text,
        ".md": text,
        ".html": f"<html><p>{_TEXT}</p></html>".encode(),
        ".docx": _word(),
        ".pdf": _pdf(),
    }


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
