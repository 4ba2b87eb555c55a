"""Reads the text of page images with PP-OCR, as the package ``rapidocr`` runs it. Runs in the confined process.

The models are in the package: nothing is downloaded.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from chatbot_mvp.documents.reading.reader import GivenFile

_LEAST_SCORE = 0.5
"""Lines that the model is less sure of are left out: they are mostly pictures and dirt."""
_LEAST_PIXELS = 200
"""Images with a shorter side are decoration."""
_MOST_PIXELS = 40_000_000
"""Of an image; an A4 page with 300 dots per inch has 9 million."""


class Line(NamedTuple):
    """A line of text on a page; places in pixels from the upper left corner."""

    text: str
    left: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


def read(file: GivenFile, pages: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield (page number, text) of scanned pages, as ``PageReader.read`` asks for; "" for a page without a text."""
    from pypdf import PdfReader

    # The package logs each model that it loads.
    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    from rapidocr import RapidOCR

    engine = RapidOCR(params={"Global.log_level": "error"})
    document = PdfReader(io.BytesIO(file.content))
    for number in pages:
        page = document.pages[number - 1]
        texts = [text for image in _images(page) if (text := _text(engine, image))]
        yield number, "\n\n".join(texts)


def _images(page: Any) -> Iterator[Any]:
    """Yield the large images of a page as arrays, shape (height, width, 3), turned as the page is shown."""
    import numpy as np
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    for image in page.images:
        shown = image.image
        if shown is None or min(shown.size) < _LEAST_PIXELS or shown.width * shown.height > _MOST_PIXELS:
            continue
        turned = shown.convert("RGB")
        if page.rotation:
            turned = turned.rotate(-page.rotation, expand=True)
        yield np.asarray(turned)


def _text(engine: Any, image: Any) -> str:
    found = engine(image)
    if found.txts is None:
        return ""
    lines = [
        Line(text.strip(), float(box[:, 0].min()), float(box[:, 1].min()), float(box[:, 1].max()))
        for text, box, score in zip(found.txts, found.boxes, found.scores, strict=True)
        if score >= _LEAST_SCORE and text.strip()
    ]
    return paragraphs(lines)


def paragraphs(lines: Sequence[Line]) -> str:
    """Join lines to paragraphs: a gap of more than a line's height begins a new one. A word cut by a hyphen is joined.

    Args:
        lines: in reading order. Pieces beside each other, at one height, are one line.
    """
    text = ""
    before: Line | None = None
    for line in lines:
        if before is None:
            text = line.text
        elif abs(line.top - before.top) < 0.5 * before.height:
            text += f" {line.text}"
        elif line.top - before.bottom > before.height or line.top < before.top:
            text += f"\n\n{line.text}"
        elif text.endswith("-") and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            text += f"\n{line.text}"
        before = line
    return text
