"""Read PDF: liteparse finds pieces of text and tables; PDFium knows passwords, the outline and single characters."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from liteparse import LiteParse
from pypdfium2 import PdfDocument, PdfiumError

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted, clean_line
from chatbot_mvp.documents.reading.pdf_found import FoundTable, box_of
from chatbot_mvp.documents.reading.pdf_glyphs import Box, Glyphs, glyphs_of, outline
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.pdf_tables import Item, rows_among, usual_size, with_tables
from chatbot_mvp.documents.reading.pdf_whole import Rule
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.errors import UploadError, UploadScanned

_PASSWORD = 1 << 13
"""The flag of a field whose value is not shown."""
_WHITE = 0xF8
_LETTERS = 100
"""Letters in words of four and more from which on their vowels are counted."""
_VOWELS = 0.3
"""Share of vowels below which they are no words; in Spanish and English 0.31 to 0.5."""
_MARK = 4
"""Characters of a piece that may be no more than the mark of a list's item."""
_DOT_PT = (1.0, 12.0)
"""Width of a figure that may be the mark of a list's item, in points."""
_LEVEL = 0.5
"""Points by which the ends of a level line differ in height at most."""
_COLUMN = 25
"""Characters of the usual line of a column of text. Shorter ones beside each other are cells."""

_MAX_OUTLINE = 5_000
_MAX_DEPTH = 6
_NEEDS_PASSWORD = 4
"""PDFium's number of that error."""
_AT_ONCE = 20
"""Pages that are read before the next ones get their time."""
_OPTIONS: dict[str, Any] = {
    "ocr_enabled": False,
    "quiet": True,
    "num_workers": 1,
    "image_mode": "off",
    "extract_blocks": True,
    "extract_text_metadata": True,
    "extract_vector_graphics": True,
    "extract_form_fields": True,
    "extract_links": False,
    "continue_on_page_error": True,
    "include_complexity": True,
}


def lines_of(page: Any, glyphs: Glyphs, lost: Counter[str]) -> list[Line]:
    """Return the lines of a page as liteparse found it, with a table as one line."""
    seen = [found for found in page.text_items if clean_line(found.text)]
    dark = [
        (left, top, left + width, top + height)
        for shape in page.vector_graphics.shapes
        for left, top, width, height in [shape.bbox]
        if shape.fill and not _is_white(shape.fill_color)
    ]
    pictures = page.complexity is not None and page.complexity.image_block_count > 0
    # A scan has its text in white, or not drawn at all, over or under the picture.
    shown = [one for one in seen if pictures or not _is_hidden(one, dark, glyphs.invisible)]
    lost["hidden"] += sum(len(one.text.split()) for one in seen) - sum(len(one.text.split()) for one in shown)
    items = [_item(one, glyphs) for one in shown]
    items += _dots([shape.bbox for shape in page.vector_graphics.shapes], items)
    items += [_value(field, items) for field in page.form_fields or () if _is_filled(field)]
    if is_rubbish(" ".join(item.text for item in items)):
        lost["unreadable"] += 1
        return []
    level = [rule for rule in page.vector_graphics.lines if abs(rule.y1 - rule.y2) < _LEVEL]
    rules = [(min(rule.x1, rule.x2), rule.y1, max(rule.x1, rule.x2)) for rule in level]
    found_tables = [block for block in page.blocks or () if block.kind == "table" and block.bbox is not None]
    tables = [FoundTable(block, glyphs, rules) for block in found_tables]
    marks = {table.mark: table for table in tables}
    lines: list[Line] = []
    placed = [*items, *marks]
    turned = Counter(round(one.rotation) for one in shown).most_common(1)
    for item in placed:
        _turn(item, turned[0][0] if turned else 0)
    if _is_right_to_left(" ".join(item.text for item in items)):
        # Mirrored, its first column is on the left.
        for item in placed:
            item.left, item.right = -item.right, -item.left
        for found in tables:
            found.mirror()
    for region in _regions(placed):
        texts = [item for item in region if item not in marks]
        for table in (marks[item] for item in region if item in marks):
            if read := set(table.read_from(texts)):
                texts = [*(item for item in texts if item not in read), table.item(list(read))]
        lines += _lines(texts, rules)
    return lines


def _item(found: Any, glyphs: Glyphs) -> Item:
    bold = "bold" in (found.font_name or "").lower() or "black" in (found.font_name or "").lower()
    size = found.font_height or found.font_size or found.height
    text = glyphs.as_written(clean_line(found.text), box_of(found))
    return Item(text, found.x, found.y, found.x + found.width, found.y + found.height, abs(size), bold)


def _dots(shapes: Sequence[Box], items: Sequence[Item]) -> Iterator[Item]:
    """Yield a bullet for each small figure that is as wide as high and stands close before a piece of text: what
    browsers print draws the marks of a list.

    Args:
        shapes: (left, top, width, height) of each.
    """
    rows: dict[int, list[Item]] = {}
    for item in items:
        rows.setdefault(round(item.middle), []).append(item)
    for left, top, width, height in shapes:
        if not _DOT_PT[0] < width < _DOT_PT[1] or abs(width - height) > 0.2 * width:
            continue
        middle, right = top + height / 2, left + width
        beside = [item for row in range(round(middle) - 4, round(middle) + 5) for item in rows.get(row, ())]
        if any(item.left <= left <= item.right for item in beside):
            continue  # it is part of the text
        after = min((item for item in beside if item.left > right), key=lambda item: item.left, default=None)
        if after is not None and 0.15 < width / after.size < 0.6 and after.left - right < 2 * after.size:
            yield replace(after, text="•", left=left, right=right)


def _is_filled(field: Any) -> bool:
    """Return whether a form's field shows something that is no part of the page's own text."""
    if field.rect is None or field.type in ("pushbutton", "signature"):
        return False
    return field.checked is not None or bool(clean_line(field.value or "") and not field.field_flags & _PASSWORD)


def _value(field: Any, items: Sequence[Item]) -> Item:
    """Return what a field shows, at its place, with the field's name where nothing on the page says what it is."""
    box = field.rect
    size = usual_size(items) if items else 11.0
    height = box.height if box.height < 2.5 * size else 1.2 * size
    middle, right = box.y + height / 2, box.x + box.width
    tick = field.checked is not None
    text = ("[x]" if field.checked else "[ ]") if tick else clean_line(field.value)
    before = any(one.right <= box.x + size and abs(one.middle - middle) < 0.5 * size for one in items)
    after = tick and any(one.left >= right - size and abs(one.middle - middle) < 0.5 * size for one in items)
    above = any(one.left < right and one.right > box.x and 0 < box.y - one.middle < 2 * size for one in items)
    if not (before or after or above) and (name := clean_line(field.alternate_name or field.name or "")):
        text = f"{text} {name}" if tick else f"{name}: {text}"
    return Item(text, box.x, box.y, right, box.y + height, size, False)


def _is_hidden(found: Any, dark: Sequence[Box], invisible: Sequence[Box]) -> bool:
    x, y = found.x + found.width / 2, found.y + found.height / 2

    def within(boxes: Sequence[Box], more: int) -> bool:
        return any(left <= x <= right and top - more <= y <= bottom + more for left, top, right, bottom in boxes)

    return within(invisible, 1) or (_is_white(found.fill_color) and not within(dark, 0))


def _is_white(color: str | None) -> bool:
    """Return whether a colour, as in "ffrrggbb", is white."""
    return color is not None and all(int(color[place : place + 2], 16) >= _WHITE for place in (2, 4, 6))


def is_rubbish(text: str) -> bool:
    """Return whether a text is what a font without a map of its characters leaves: hardly any vowels, or no letters."""
    unknown = sum(char == "\ufffd" or "\ue000" <= char <= "\uf8ff" for char in text)
    words = re.findall(r"[A-Za-z]{4,}", text)
    letters = "".join(words).lower()
    if unknown > 0.2 * len(text) or len(letters) < _LETTERS:
        return unknown > 0.2 * len(text)
    latin = sum(char.isascii() for char in text if char.isalpha()) > 0.6 * sum(map(str.isalpha, text))
    return latin and sum(letters.count(vowel) for vowel in "aeiouy") < _VOWELS * len(letters)


def _turn(item: Item, degrees: int) -> None:
    """Put a piece of a page whose text is turned where it would be if the page were turned back."""
    if degrees == 90:
        item.left, item.top, item.right, item.bottom = item.top, -item.right, item.bottom, -item.left
    elif degrees == 270:
        item.left, item.top, item.right, item.bottom = -item.bottom, item.left, -item.top, item.right


def _is_right_to_left(text: str) -> bool:
    letters = [unicodedata.bidirectional(char) for char in text if char.isalpha()]
    return 2 * sum(kind in ("R", "AL") for kind in letters) > len(letters)


def _regions(items: Sequence[Item]) -> list[list[Item]]:
    """Cut a page at its gutters into regions that are read one after the other."""
    if len(items) < 4:
        return [list(items)]
    for cut in (_gutter, _band):
        parts = cut(items)
        if len(parts) > 1:
            return [region for part in parts for region in _regions(part)]
    return [list(items)]


def _gutter(items: Sequence[Item]) -> list[list[Item]]:
    """Split at an empty vertical strip with columns of text on both sides; a table across it is none."""
    for middle in _strips([item for item in items if item.size]):
        sides = [[i for i in items if i.right < middle], [i for i in items if i.left > middle]]
        if all(map(_is_column, sides)):
            return sides
    return [list(items)]


def _strips(items: Sequence[Item]) -> Iterator[float]:
    """Yield the middle of each vertical strip between pieces of text on which nothing is written."""
    edge = math.inf
    for item in sorted(items, key=lambda item: item.left):
        if edge < item.left - 5:
            yield (edge + item.left) / 2
        edge = item.right if edge == math.inf else max(edge, item.right)


def _is_column(side: Sequence[Item]) -> bool:
    """Return whether pieces are lines of text: long ones, or the words of justified lines, without a strip in them."""
    texts = [item for item in side if item.size > 0]
    rows = [[item] for item in texts if len(item.text) > _MARK]
    if not any(_strips([item for row in rows for item in row])):
        rows = rows_among(texts)
    lengths = sorted(sum(len(item.text) for item in row) for row in rows)
    return len(lengths) >= 3 and lengths[len(lengths) // 2] >= _COLUMN


def _band(items: Sequence[Item]) -> list[list[Item]]:
    """Split between lines, where one part has columns and the other has none."""
    order = sorted(items, key=lambda item: item.top)
    edge = order[0].bottom
    for place, item in enumerate(order):
        if item.top >= edge - 1 and place:
            parts = [order[:place], order[place:]]
            if any(len(_gutter(part)) > 1 for part in parts):
                return parts
        edge = max(edge, item.bottom)
    return [list(items)]


def _lines(items: Sequence[Item], rules: Sequence[Rule]) -> list[Line]:
    found = []
    for row in with_tables(rows_among(items), rules):
        most = max(row, key=lambda item: len(item.text))
        text = row[0].text if len(row) == 1 else " ".join(item.text for item in row)
        bold = all(item.bold for item in row)
        found.append(Line(text, round(most.size, 1), bold, -row[0].bottom, row[0].table))
    return found


def read(file: GivenFile) -> Extracted:
    """Read the text of a PDF of at most ``file.max_pages`` pages.

    Raises:
        UploadScanned: no page has text.
        UploadError (upload_encrypted, upload_too_many_pages, upload_expands, upload_damaged): the file cannot be read.
    """
    name = file.name
    try:
        # Many files restrict only printing or copying: their password for reading is empty.
        document = PdfDocument(file.content, password="", autoclose=True)  # nosec B106  (PDFium tries the empty one)
    except PdfiumError as error:
        if error.err_code == _NEEDS_PASSWORD:
            raise UploadError("upload_encrypted", name=name) from error
        raise UploadError("upload_damaged", name=name, kind=".pdf", reason=str(error).rstrip(".")) from error
    count = len(document)
    if count > file.max_pages:
        raise UploadError("upload_too_many_pages", name=name, pages=count, limit=file.max_pages)
    lost: Counter[str] = Counter()
    pages: list[list[Line]] = []
    chars = 0
    for batch in LiteParse(**_OPTIONS, max_pages=count).parse_batches(file.content, _AT_ONCE):
        found = {page.page_num: page for page in batch.result.pages}
        for number in range(batch.start_page, batch.end_page + 1):
            pages.append(lines_of(found[number], glyphs_of(document[number - 1]), lost) if number in found else [])
            chars += sum(len(line.text) for line in pages[-1])
            if chars > MAX_TEXT_CHARS:
                raise UploadError("upload_expands", name=name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
            file.on_pages(number)
    whole = compose(pages, _outline(document))
    if not whole.text:
        raise UploadScanned(name=name, pages=count)
    return replace(whole, lost=dict(+lost))


def _outline(document: PdfDocument) -> list[OutlineEntry]:
    """Return the bookmarks as a flat list; empty if the outline is damaged, since the text does not depend on it."""
    try:
        marks = islice(outline(document, _MAX_OUTLINE, _MAX_DEPTH), _MAX_OUTLINE)
        return [OutlineEntry(clean_line(title), page, _MAX_DEPTH - below + 1) for title, page, below in marks]
    except Exception:  # noqa: BLE001 -- anything can be wrong in a hostile or broken outline
        return []
