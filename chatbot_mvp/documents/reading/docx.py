"""Convert Word documents to text, via mammoth's HTML."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.html import leave_out, missing, soup_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_word
from chatbot_mvp.documents.reading.word_xml import prepared
from chatbot_mvp.errors import UploadError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

MAX_UNPACKED_MB = 60
"""Limit of a document's unpacked XML, as declared in the zip directory. zipfile never unpacks more than declared."""
MAX_RATIO = 250
"""Limit of unpacked to packed size for a part over one megabyte; ordinary documents have 5 to 30."""
MAX_PARTS = 5_000

_STYLES = """
p[style-name='Title'] => h1.title:fresh
p[style-name='Título'] => h1.title:fresh
p[style-name='Puesto'] => h1.title:fresh
p.CodeOfThisReader => pre:separator('\\n')
""" + "\n".join(
    f"p[style-name='{name} {level}'] => h{level}:fresh"
    for name in ("Título", "título", "Encabezado")
    for level in range(1, 7)
)


def read(file: GivenFile) -> Extracted:
    """Read the body text, with each footnote at its reference. Omits headers, footers, comments, deletions, pictures.

    Raises:
        MissingPackage: mammoth or beautifulsoup4 is not installed.
        UploadError (upload_damaged): the file is not a readable zip archive.
        UploadError: it would become too large; nothing was unpacked.
        UploadError: it is not a document that people write.
    """
    _check(file.name, file.content)
    try:
        import mammoth
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise missing(error.name or "mammoth") from error
    lost: Counter[str] = Counter()
    html = mammoth.convert_to_html(
        io.BytesIO(prepared(file.content, lost)),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=lambda image: [],  # images are never opened
        external_file_access=False,
    ).value
    soup = BeautifulSoup(html, "html.parser")
    _place_notes(soup)
    _lower_headings_under_title(soup)
    leave_out(soup, lost)
    return Extracted(soup_to_text(soup), lost=dict(+lost))


def _check(name: str, content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            _require_small(name, parts)
            check_word(name, [archive.read(part) for part in parts if part.filename.lower().endswith(".xml")])
    # zipfile raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise UploadError("upload_damaged", name=name, kind=".docx", reason=str(error)) from error


def _require_small(name: str, parts: list[zipfile.ZipInfo]) -> None:
    if len(parts) > MAX_PARTS:
        raise UploadError("upload_too_many_parts", name=name, parts=len(parts), limit=MAX_PARTS)
    read = [part for part in parts if part.filename.lower().endswith((".xml", ".rels"))]
    if sum(part.file_size for part in read) > MAX_UNPACKED_MB * 1_000_000:
        raise UploadError("upload_expands", name=name, limit_mb=MAX_UNPACKED_MB)
    for part in read:
        ratio = -(-part.file_size // max(1, part.compress_size))
        if part.file_size > 1_000_000 and ratio > MAX_RATIO:
            raise UploadError("upload_too_steep", name=name, part=part.filename, ratio=ratio, limit=MAX_RATIO)


def _place_notes(soup: BeautifulSoup) -> None:
    """Replace each reference to a footnote or endnote by the note's text in parentheses."""
    notes: dict[str, str] = {}
    for item in soup.find_all("li", id=lambda value: bool(value) and value.startswith(("footnote-", "endnote-"))):
        for back in item.find_all("a", href=lambda value: bool(value) and "note-ref-" in value):
            back.decompose()
        notes[f"#{item['id']}"] = " ".join(item.get_text(" ").split())
        item.decompose()
    for link in soup.find_all("a", href=lambda value: value in notes):
        place = link.parent if link.parent is not None and link.parent.name == "sup" else link
        text = notes.pop(str(link["href"]), "")  # once: many references to a long note would multiply it
        place.replace_with(f" ({text})" if text else "")


def _lower_headings_under_title(soup: BeautifulSoup) -> None:
    """Move all headings one level down if the document has a title, since chapters also begin at level 1."""
    if not soup.select("h1.title"):
        return
    for heading in soup.find_all(["h1", "h2", "h3", "h4", "h5"]):
        if "title" not in (heading.get("class") or []):
            heading.name = f"h{int(heading.name[1]) + 1}"
