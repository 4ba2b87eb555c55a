"""Convert Word documents to text, via mammoth's HTML."""

from __future__ import annotations

import io
from collections import Counter

import mammoth
from bs4 import BeautifulSoup

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.html import leave_out, lower_headings_under_title, soup_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_word, check_zip
from chatbot_mvp.documents.reading.word_xml import prepared

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
        UploadError: the file is damaged, or none that people write.
    """
    parts = check_zip(file.name, file.content, ".docx")
    check_word(file.name, [part for name, part in parts.items() if name.lower().endswith(".xml")])
    lost: Counter[str] = Counter()
    html = mammoth.convert_to_html(
        io.BytesIO(prepared(parts, lost)),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=lambda image: [],  # images are never opened
        external_file_access=False,
    ).value
    soup = BeautifulSoup(html, "html.parser")
    _place_notes(soup)
    lower_headings_under_title(soup)
    leave_out(soup, lost)
    return Extracted(soup_to_text(soup), lost=dict(+lost))


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
