"""Pictures of the pages of a PDF, and where a passage of its text stands on them."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from chatbot_mvp.documents.reading.reader import PageReader
from chatbot_mvp.documents.reading.sandbox import read_pages_apart
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.text import fold, sentences

SECONDS = 20
"""Time limit for a picture by the clock. An ordinary one takes half a second, most of it to start the process."""
_WIDTH, _MOST_HEIGHT = 1200, 2400
"""Pixels of a picture: as wide as _WIDTH, unless it would be higher than _MOST_HEIGHT."""
_MOST_CHARS = 20_000
"""Characters of a page whose place is told. Dense pages have 8,000."""
_UNIT = 10_000
"""Places come as whole numbers, in parts of the page's width and height, of which there are so many."""
_MODULE = "chatbot_mvp.documents.reading.pdf_pictures"
_DRAWER = PageReader(
    "pictures of pages",
    ".pdf",
    f"{_MODULE}:draw",
    cpu_seconds_per_page=10,
    options=lambda: {"width": _WIDTH, "most_height": _MOST_HEIGHT, "most_chars": _MOST_CHARS, "unit": _UNIT},
    loads=(_MODULE,),
)

_LEAST_LETTERS = 6
"""Sentences with fewer letters are looked for together with the next one: they stand in many places."""
_LEAST_LIKE = 85.0
"""Least likeness, in percent, of a sentence to the text that is marked for it."""
_LIKE_FROM = 20
"""Letters that a sentence needs to be found by likeness."""
_LEAST_FOUND = 0.5
"""Share of a passage's letters that must be found on the page; below it, nothing is marked."""


@dataclass(frozen=True)
class Box:
    """A rectangle on a page, in fractions of its width and height, from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class DrawnPage:
    """The picture of a page and the characters on it. All of it comes from an untrusted file."""

    png: bytes
    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    chars: str
    boxes: tuple[Box, ...]
    """One for each character."""

    def find(self, passage: str, near: float = 0.0) -> tuple[Box, ...]:
        """Return where a passage stands: a rectangle for each line or part of one; none if most of it is not found.

        Line breaks, hyphens, ligatures, accents and punctuation may differ.

        Args:
            near: where about on the page it begins, from 0 to 1; decides between places with the same text.
        """
        page, where = _letters(self.chars)
        pieces = [letters for letters, _ in map(_letters, _pieces(passage)) if letters]
        spans: list[tuple[int, int]] = []
        expected = round(near * len(page))
        for piece in ["".join(pieces)] if "".join(pieces) in page else pieces:
            if span := _span(page, piece, expected):
                spans.append(span)
                expected = span[1]
        wanted, found = sum(map(len, pieces)), sum(end - start for start, end in spans)
        if not wanted or found < _LEAST_FOUND * wanted:
            return ()
        marked = sorted({where[index] for start, end in spans for index in range(start, end)})
        return tuple(_lines([self.boxes[index] for index in marked]))


def draw_page(name: str, content: bytes, number: int) -> bytes | None:
    """Draw a page of a PDF in the confined process.

    Args:
        number: of the page, from 1.

    Returns:
        What ``drawn_page`` reads; None if the page cannot be drawn, and the log says why.
    """
    deadline = time.monotonic() + SECONDS

    def check() -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    try:
        found = read_pages_apart(_DRAWER, name, content, [number], check)
    except TimeoutError:
        return None
    return found[number].encode() if number in found else None


def drawn_page(content: bytes) -> DrawnPage:
    """Read what ``draw_page`` returned.

    Raises:
        ValueError: it is damaged, or no such picture.
    """
    try:
        read = parse_json(content)
        png, chars, numbers = base64.b64decode(read["png"]), str(read["chars"]), [float(one) for one in read["boxes"]]
    except (KeyError, TypeError, binascii.Error) as error:
        raise ValueError(str(error)) from error
    if png[:8] != b"\x89PNG\r\n\x1a\n" or len(png) < 24 or len(numbers) != 4 * len(chars):
        raise ValueError("it is no picture of a page")
    width, height = struct.unpack(">II", png[16:24])
    if not (0 < width <= _WIDTH + 1 and 0 < height <= _MOST_HEIGHT + 1):
        raise ValueError(f"its picture has {width} x {height} pixels")
    parts = [min(max(one / _UNIT, 0.0), 1.0) for one in numbers]
    return DrawnPage(png, (width, height), chars, tuple(Box(*parts[at : at + 4]) for at in range(0, len(parts), 4)))


def _pieces(passage: str) -> Iterator[str]:
    """Yield the sentences of a passage, short ones together with the next."""
    begin: int | None = None
    for start, end in sentences(passage):
        begin = start if begin is None else begin
        if len(_letters(passage[begin:end])[0]) >= _LEAST_LETTERS:
            yield passage[begin:end]
            begin = None
    if begin is not None:
        yield passage[begin:]


def _letters(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text, folded, and of each the index of its character."""
    found = [(letter, index) for index, char in enumerate(text) for letter in _folded(char)]
    return "".join(letter for letter, _ in found), [index for _, index in found]


@lru_cache(4_096)
def _folded(char: str) -> str:
    return "".join(filter(str.isalnum, fold(char)))


def _span(page: str, piece: str, expected: int) -> tuple[int, int] | None:
    """Return where a piece stands in the letters of a page, the place nearest to ``expected`` if there are several."""
    starts = [found.start() for found in re.finditer(f"(?={re.escape(piece)})", page)]
    if starts:
        start = min(starts, key=lambda one: abs(one - expected))
        return start, start + len(piece)
    if len(piece) >= _LIKE_FROM and len(page) >= len(piece):
        like = fuzz.partial_ratio_alignment(piece, page, score_cutoff=_LEAST_LIKE)
        if like is not None:
            return like.dest_start, like.dest_end
    return None


def _lines(boxes: Sequence[Box]) -> Iterator[Box]:
    """Yield boxes of characters joined to lines; a wide gap, as between the columns of a table, begins a new one."""
    line: Box | None = None
    for box in boxes:
        if line is not None and _goes_on(line, box):
            line = Box(
                min(line.left, box.left),
                min(line.top, box.top),
                max(line.right, box.right),
                max(line.bottom, box.bottom),
            )
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


def _goes_on(line: Box, box: Box) -> bool:
    height = max(line.bottom - line.top, box.bottom - box.top)
    shared = min(line.bottom, box.bottom) - max(line.top, box.top)
    return shared > 0.4 * height and -height < box.left - line.right < 2 * height
