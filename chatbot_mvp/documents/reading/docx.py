"""Word documents to text, by way of the HTML that mammoth makes of them."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.html import missing, soup_to_text
from chatbot_mvp.errors import UploadDamaged, UploadExpands

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

MAX_UNPACKED_MB = 60
"""Of XML in a document, as its directory declares it; zipfile gives no part more than it declares."""
MAX_RATIO = 250
"""Unpacked to packed, of a part over a megabyte; ordinary documents have 5 to 30."""
MAX_PARTS = 5_000

_STYLES = """
p[style-name='Title'] => h1.title:fresh
p[style-name='Título'] => h1.title:fresh
p[style-name='Puesto'] => h1.title:fresh
""" + "\n".join(
    f"p[style-name='{name} {level}'] => h{level}:fresh"
    for name in ("Título", "título", "Encabezado")
    for level in range(1, 7)
)


def read_docx(name: str, content: bytes) -> Extracted:
    """Text of the body with its footnotes in place; no headers, footers, comments, deleted text or pictures.

    Raises:
        MissingPackage, UploadDamaged
        UploadExpands: its parts would be too large; nothing was unpacked.
    """
    _check_size(name, content)
    try:
        import mammoth
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise missing(error.name or "mammoth") from error
    html = mammoth.convert_to_html(
        io.BytesIO(content),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=lambda image: [],  # never opened, wherever it is
        external_file_access=False,
    ).value
    soup = BeautifulSoup(html, "html.parser")
    _place_notes(soup)
    _lower_headings_under_title(soup)
    return Extracted(soup_to_text(soup))


def _check_size(name: str, content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise UploadDamaged(name=name, kind=".docx", reason=str(error)) from error
    read = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
    steep = any(part.file_size > MAX_RATIO * max(1, part.compress_size) for part in read if part.file_size > 1_000_000)
    if len(parts) > MAX_PARTS or sum(part.file_size for part in read) > MAX_UNPACKED_MB * 1_000_000 or steep:
        raise UploadExpands(name=name, limit_mb=MAX_UNPACKED_MB)


def _place_notes(soup: BeautifulSoup) -> None:
    """Put each note where it is referred to: a passage then says all that it says, and no [1] is left."""
    notes = {}
    for item in soup.find_all("li", id=lambda value: bool(value) and value.startswith(("footnote-", "endnote-"))):
        for back in item.find_all("a", href=lambda value: bool(value) and "note-ref-" in value):
            back.decompose()
        notes[f"#{item['id']}"] = " ".join(item.get_text(" ").split())
        item.decompose()
    for link in soup.find_all("a", href=lambda value: value in notes):
        place = link.parent if link.parent is not None and link.parent.name == "sup" else link
        text = notes[str(link["href"])]
        place.replace_with(f" ({text})" if text else "")


def _lower_headings_under_title(soup: BeautifulSoup) -> None:
    """A document's title stands above its chapters, whose headings begin at 1 as well."""
    if not soup.select("h1.title"):
        return
    for heading in soup.find_all(["h1", "h2", "h3", "h4", "h5"]):
        if "title" not in (heading.get("class") or []):
            heading.name = f"h{int(heading.name[1]) + 1}"
