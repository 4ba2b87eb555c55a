"""What PDFium knows of single characters and liteparse does not tell: raised numbers, quotation marks and dashes as
they are written, and text that is never drawn."""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, islice, pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from chatbot_mvp.documents.reading.extracted import raised

_NUMBERS = re.compile(r"[-+−\d]*\d")
_INVISIBLE = 3
_STEP = 0.12
"""Distance of the base lines of a number and of what is raised or lowered beside it, in font sizes."""
_SAME_SIZE = 0.25
"""Likewise, where both have one size."""
_TOUCH = 0.3
"""White space between what touches, in font sizes."""
_LONGEST = 3
"""Digits of a mark that is drawn apart from what it touches."""
_BROKEN = 0.1
"""Share of line ends among the characters of a page above which PDFium breaks its words, and liteparse with it."""
_SPACE = 0.15
"""Space between two words there, in heights of a line, at least."""
_UNIT = 10
"""Parts of a point in which places are told."""

_WRITTEN = {'"': "“”„‟″", "'": "‘’‚‛′", "-": "‐‑‒–—―−"}
"""What liteparse tells -> what it may be."""
_KIND = {char: told for told, chars in _WRITTEN.items() for char in told + chars}
_SIGN = re.compile(f"[{re.escape(''.join(_KIND))}]")
_AROUND = 2.0
"""Points around a text in which its signs lie."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points from the upper left corner of a page as it is shown."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A raised or lowered number that touches another one, or a word."""

    around: str
    """The number with what it touches."""
    begin: int
    end: int
    """Where it is in ``around``."""
    x: float
    y: float
    lowered: bool


@dataclass(frozen=True, slots=True)
class Glyphs:
    marks: Sequence[Mark] = ()
    invisible: Sequence[Box] = field(default_factory=list)
    signs: Sequence[tuple[str, float, float]] = ()
    """(quotation mark or dash, x, y) in the order of drawing; none if all are what liteparse tells."""
    chars: Sequence[tuple[str, float, float]] = ()
    """All characters likewise, with the space before them, of a page that PDFium takes for one that is written from top
    to bottom; else none."""

    def as_written(self, text: str, box: Box) -> str:
        """Return a text of a place with its spaces, quotation marks and dashes, and its raised numbers kept apart."""
        left, top, right, bottom = box
        drawn = [n for n, (_, x, y) in enumerate(self.chars) if left <= x <= right and top <= y <= bottom]
        whole = "".join(char for char, _, _ in self.chars[drawn[0] : drawn[-1] + 1]).strip() if drawn else ""
        if whole.replace(" ", "") == text.replace(" ", ""):
            text = whole
        inside = [
            char
            for char, x, y in self.signs
            if left - _AROUND <= x <= right + _AROUND and top - _AROUND <= y <= bottom + _AROUND
        ]
        if [_KIND[char] for char in inside] == [_KIND[char] for char in _SIGN.findall(text)]:
            written = iter(inside)
            text = _SIGN.sub(lambda _: next(written), text)
        return separated(text, box, self.marks)


@dataclass(frozen=True, slots=True)
class _Char:
    char: str
    box: Box
    """Of the page before it is turned: left, bottom, right, top."""
    left: float
    """Its ends in the direction in which its text is written."""
    right: float
    line: float
    """Height of its base line, in the direction in which its text is upright."""
    size: float
    across: tuple[float, float]
    """Direction of its text."""


def outline(
    document: pdfium.PdfDocument, most: int, depth: int, above: object = None
) -> Iterator[tuple[str, int, int]]:
    """Yield (title, page from 0, levels that may follow, itself too) of the bookmarks that lead to a page.

    Args:
        most: bookmarks of one level beside each other, which a file may make a ring.
        above: what they are under.
    """
    mark = raw.FPDFBookmark_GetFirstChild(document, above)
    for _ in range(most):
        if not mark:
            return
        # What pypdfium2 has for this calls what the confined process may not.
        length = raw.FPDFBookmark_GetTitle(mark, None, 0)
        title = (ctypes.c_char * length)()
        raw.FPDFBookmark_GetTitle(mark, title, length)
        place = raw.FPDFBookmark_GetDest(document, mark)
        if place and (page := raw.FPDFDest_GetDestPageIndex(document, place)) >= 0:
            yield bytes(title).decode("utf-16-le", "replace").rstrip("\0"), page, depth
        if depth > 1:
            yield from outline(document, most, depth - 1, mark)
        mark = raw.FPDFBookmark_GetNextSibling(document, mark)


def glyphs_of(page: pdfium.PdfPage) -> Glyphs:
    """Return what is special on a page, and close it."""
    try:
        text = page.get_textpage()
        codes = [raw.FPDFText_GetUnicode(text, index) for index in range(text.count_chars())]
        found = list(_marks(page, text, codes)), list(_invisible(page)), list(_signs(page, text, codes))
        return Glyphs(*found, list(_chars(page, text, codes)) if codes.count(10) > _BROKEN * len(codes) else [])
    finally:
        page.close()


def separated(text: str, box: Box, marks: Sequence[Mark]) -> str:
    """Return a text in which the raised numbers that lie in its box are kept apart from the numbers beside them."""
    left, top, right, bottom = box
    for mark in marks:
        if not (left <= mark.x <= right and top <= mark.y <= bottom):
            continue
        small = mark.around[mark.begin : mark.end]
        for around, begin in ((mark.around, mark.begin), (small, 0)):
            places = [found.start() + begin for found in re.finditer(re.escape(around), text)]
            if around == small and small != text and not mark.lowered:
                places = places if len(places) == 1 else []
            if places:
                place = (mark.x - left) / max(1.0, right - left) * len(text)
                at = min(places, key=lambda found: abs(found - place))
                before, after = text[:at], text[at + len(small) :]
                text = before + raised(small, before, lowered=mark.lowered)
                text += (" " if after[:1].isalnum() else "") + after
                break
    return text


def _invisible(page: pdfium.PdfPage) -> Iterator[Box]:
    for found in page.get_objects([raw.FPDF_PAGEOBJ_TEXT], max_depth=1):
        if raw.FPDFTextObj_GetTextRenderMode(found.raw) == _INVISIBLE:
            left, bottom, right, top = found.get_bounds()
            (x, y), (x2, y2) = _place(page, left, top), _place(page, right, bottom)
            yield min(x, x2), min(y, y2), max(x, x2), max(y, y2)


def _signs(page: pdfium.PdfPage, text: pdfium.PdfTextPage, codes: Sequence[int]) -> Iterator[tuple[str, float, float]]:
    found = [(index, char) for index, char in enumerate(map(chr, codes)) if char in _KIND]
    for index, char in found if any(char not in _WRITTEN for _, char in found) else ():
        left, bottom, right, top = text.get_charbox(index)
        yield char, *_place(page, (left + right) / 2, (bottom + top) / 2)


def _chars(page: pdfium.PdfPage, text: pdfium.PdfTextPage, codes: Sequence[int]) -> Iterator[tuple[str, float, float]]:
    last = (0.0, 0.0, 0.0, 0.0)
    for index, code in enumerate(codes):
        if code > 32:
            left, bottom, right, top = box = text.get_charbox(index, loose=True)
            touches = bottom < last[3] and top > last[1] and abs(left - last[2]) < _SPACE * (top - bottom)
            yield " " * (not touches) + chr(code), *_place(page, (left + right) / 2, (bottom + top) / 2)
            last = box


def _marks(page: pdfium.PdfPage, text: pdfium.PdfTextPage, codes: Sequence[int]) -> Iterator[Mark]:
    real = [(index, chr(code)) for index, code in enumerate(codes) if 32 < code < 0xD800 and code != 0xA0]
    whole = "".join(char for _, char in real)

    @cache
    def char(place: int) -> _Char:
        return _char(text, *real[place])

    @cache
    def usual() -> float:
        sizes = sorted(char(place).size for place in range(0, len(real), 1 + len(real) // 100))
        return sizes[3 * len(sizes) // 4]  # that of the text, not of a heading, below which every number would be small

    @cache
    def ends() -> tuple[list[float], list[_Char]]:
        found = sorted((char(place) for place in range(len(real))), key=lambda one: one.right)
        return [one.right for one in found], found

    def beside(one: _Char) -> list[_Char]:
        """Return the larger character that one touches, which may be anywhere in the order of drawing."""
        rights, chars = ends()
        low, high = bisect_left(rights, one.left - _TOUCH * usual()), bisect_right(rights, one.left + 0.5 * one.size)
        near = (other for other in chars[low:high] if other.size * 0.9 > one.size and _touch(other, one))
        return list(islice(near, 1))

    for found in _NUMBERS.finditer(whole):
        begin, end = found.span()
        apart = (place for place in range(begin + 1, end) if not _touch(char(place - 1), char(place)))
        for first, last in pairwise([begin, *apart, end]):
            run = [char(place) for place in range(first, last)]
            before = [char(first - 1)] if first and _touch(char(first - 1), run[0]) else []
            after = [char(last)] if last < len(real) and _touch(run[-1], char(last)) else []
            if not before and len(run) <= _LONGEST and run[0].size < 0.9 * usual():
                before = beside(run[0])
            yield from _marks_among(page, [*before, *run, *after], len(before), len(before) + len(run))


def _marks_among(page: pdfium.PdfPage, chars: Sequence[_Char], begin: int, end: int) -> Iterator[Mark]:
    """Find the marks in a number, from ``begin`` to ``end``, and what it touches."""
    size = max(char.size for char in chars)
    base = min(char.line for char in chars if char.size > 0.95 * size)
    around = "".join(char.char for char in chars)

    def level(place: int) -> int:
        step = chars[place].line - base
        least = size * (_STEP if chars[place].size < 0.9 * size else _SAME_SIZE)
        return (step > least) - (step < -least) if abs(step) < size else 0

    runs = [(key, list(run)) for key, run in groupby(range(begin, end), level)]
    for key, run in runs:
        first, last = run[0], run[-1] + 1
        if key and len(chars) > len(run) and _NUMBERS.fullmatch(around[first:last]):
            touched = around[max(0, first - 1) : first] + around[last : last + 1]
            if key > 0 or any(map(str.isdigit, touched)):
                left, bottom, right, top = chars[first].box
                x, y = _place(page, (left + right) / 2, (bottom + top) / 2)
                yield Mark(around, first, last, x, y, key < 0)


def _touch(one: _Char, other: _Char) -> bool:
    """Return whether a character follows another one on its line, raised or lowered at most."""
    size = max(one.size, other.size)
    near = -0.5 * size <= other.left - one.right <= _TOUCH * size and abs(one.line - other.line) < 0.9 * size
    return near and one.across[0] * other.across[0] + one.across[1] * other.across[1] > 0.99


def _char(text: pdfium.PdfTextPage, index: int, char: str) -> _Char:
    x, y, matrix = ctypes.c_double(), ctypes.c_double(), raw.FS_MATRIX()
    raw.FPDFText_GetCharOrigin(text, index, x, y)
    raw.FPDFText_GetMatrix(text, index, matrix)
    scale, wide = math.hypot(matrix.c, matrix.d) or 1.0, math.hypot(matrix.a, matrix.b) or 1.0
    across = matrix.a / wide, matrix.b / wide
    box = text.get_charbox(index)
    ends = [across[0] * box[side] + across[1] * box[height] for side in (0, 2) for height in (1, 3)]
    line = (x.value * matrix.c + y.value * matrix.d) / scale
    size = raw.FPDFText_GetFontSize(text, index) * scale
    return _Char(char, box, min(ends), max(ends), line, size, across)


def _place(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    across, down = drawn_at(page, round(_UNIT * page.get_width()), round(_UNIT * page.get_height()), x, y)
    return across / _UNIT, down / _UNIT


def drawn_at(page: pdfium.PdfPage, width: int, height: int, x: float, y: float) -> tuple[int, int]:
    """Return where a point of a page is as it is drawn in a size: turned, cut, and from the upper left corner."""
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value, down.value
