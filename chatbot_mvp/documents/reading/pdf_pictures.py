"""Draw pages of a PDF with PDFium, together with the place of each character. Runs in the confined process."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import PngImagePlugin  # noqa: F401 -- Pillow looks for it otherwise when it writes

from chatbot_mvp.documents.reading.pdf_glyphs import drawn_at
from chatbot_mvp.documents.reading.reader import GivenFile


def draw(
    file: GivenFile, pages: Sequence[int], width: int, most_height: int, most_chars: int, unit: int
) -> Iterator[tuple[int, str]]:
    """Yield (page number, its picture as JSON), as ``PageReader.read`` asks for.

    The JSON object has ``png``, in base64; ``chars``, the visible characters of the page; and ``boxes``, four whole
    numbers for each of them: left, top, right and bottom, from 0 to ``unit``, which is all of the width or height.

    Args:
        width, most_height: pixels of a picture, which is less wide if it would be too high.
        most_chars: characters of a page that are told.
    """
    document = pdfium.PdfDocument(file.content)
    for number in pages:
        page = document[number - 1]
        scale = min(width / page.get_width(), most_height / page.get_height())
        picture = page.render(scale=scale).to_pil()
        out = io.BytesIO()
        # Text in black alone takes half the bytes as shades of grey.
        (picture.convert("L") if _is_grey(picture) else picture).save(out, "PNG")
        chars, boxes = _chars(page, most_chars, unit)
        png = base64.b64encode(out.getvalue()).decode()
        yield number, json.dumps({"png": png, "chars": chars, "boxes": boxes})


def _is_grey(picture: Any) -> bool:
    colours = picture.getcolors(maxcolors=256)
    return colours is not None and all(red == green == blue for _, (red, green, blue) in colours)


def _chars(page: pdfium.PdfPage, most: int, unit: int) -> tuple[str, list[int]]:
    """Return the visible characters of a page in the order of its text, and their boxes."""
    text = page.get_textpage()
    chars: list[str] = []
    boxes: list[int] = []
    for index in range(min(text.count_chars(), most)):
        code = raw.FPDFText_GetUnicode(text, index)
        if not 32 < code < 0x110000 or 0xD800 <= code < 0xE000:
            continue
        left, bottom, right, top = text.get_charbox(index, loose=True)
        (x, y), (x2, y2) = (drawn_at(page, unit, unit, *corner) for corner in ((left, top), (right, bottom)))
        chars.append(chr(code))
        boxes += [min(x, x2), min(y, y2), max(x, x2), max(y, y2)]
    return "".join(chars), boxes
