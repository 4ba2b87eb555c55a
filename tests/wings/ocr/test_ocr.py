"""Scanned pages are read beside pages with text; without the package they are named as unread."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.documents.reading.readers import page_readers_of
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ocr.pages import Line, paragraphs
from tests.documents.made import pdf

pytest.importorskip("rapidocr", reason="needs rapidocr: pip install -e '.[ocr]'")

FONT = Path("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
SCANNED = (
    "Reglamento del museo municipal",
    "La exposición cierra a las 19:30 los miércoles.",
    "El niño menor de ocho años entra gratis.",
    "La tarifa reducida cuesta 4,50 euros.",
    "¿Quién paga? Los acompañantes pagan la mitad.",
)


def scanned_page(lines: tuple[str, ...]) -> bytes:
    """A PDF of one page that is an image, as a scanner makes it with 150 dots per inch."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (1_240, 1_754), 255)
    font = ImageFont.truetype(str(FONT), 30)
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((120, 120 + number * 60), line, fill=0, font=font)
    written = io.BytesIO()
    page.save(written, "PDF", resolution=150)
    return written.getvalue()


def mixed(*parts: bytes) -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for part in parts:
        writer.append(io.BytesIO(part))
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def distance(one: str, other: str) -> int:
    """Edits of single characters from one text to the other (Levenshtein)."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(one, other)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not FONT.is_file(), reason="needs the font Liberation Sans (Debian: fonts-liberation)")
def test_scanned_pages_are_read_and_cited_with_their_page(settings: Settings) -> None:
    content = mixed(pdf([[("La biblioteca abre a las nueve.", 12)]]), scanned_page(SCANNED))
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL", provider="demo"))
    record = app.kbs.add("reglamento.pdf", content)
    [file] = app.kbs.files(record.kb_id)
    assert file.empty_pages == 0
    text = app.kbs.document(record.kb_id).text
    read = " ".join(text[file.page_starts[1] :].split())
    wanted = " ".join(SCANNED)
    assert distance(read, wanted) <= 0.02 * len(wanted), read
    answer = app.answering.ask(record.kb_id, "¿Cuánto cuesta la tarifa reducida?")
    assert "4,50 euros" in answer.text
    assert answer.sources[0].place is not None and answer.sources[0].place.page == 2


def test_the_hook_is_there_and_costs_nothing_before_a_page_needs_it() -> None:
    assert "ocr" in [reader.name for reader in page_readers_of(".pdf")]


def test_lines_become_paragraphs() -> None:
    lines = [
        Line("Nombre", 10, 10, 30),
        Line("Ana", 200, 11, 31),
        Line("un texto que se cor-", 10, 40, 60),
        Line("ta al final", 10, 65, 85),
        Line("Otro párrafo", 10, 130, 150),
        Line("Segunda columna", 600, 10, 30),
    ]
    assert paragraphs(lines) == "Nombre Ana\nun texto que se corta al final\n\nOtro párrafo\n\nSegunda columna"
    assert paragraphs([]) == ""


def test_without_the_package_pages_stay_unread_and_are_counted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot_mvp.documents.reading.readers.find_spec", lambda name: None)
    assert page_readers_of(".pdf") == []
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL", provider="demo"))
    blank = pdf([[("La biblioteca abre a las nueve.", 12)], []])
    [file] = app.kbs.files(app.kbs.add("reglamento.pdf", blank).kb_id)
    assert file.empty_pages == 1
