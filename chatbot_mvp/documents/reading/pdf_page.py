"""Put the pieces of text of a PDF's page into the order of reading, as lines and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.documents.reading.extracted import clean_line
from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.pdf_layout import Line

_EMPHASIS = re.compile(r"(\\*\\*\\*|\\*\\*|~~)(?=\\S)|(?<=\\S)(\\*\\*\\*|\\*\\*|~~)")
_COLUMN = 25
"""Characters of the usual line of a column of text. Shorter ones beside each other are cells."""


@dataclass(slots=True)
class Item:
    """A piece of text without wide gaps."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def lines_of(page: Any, lost: Counter[str]) -> list[Line]:
    """Return the lines of a page as liteparse found it, with a table as one line."""
    items = [_item(found) for found in page.text_items if clean_line(found.text)]
    placed: list[Item] = []
    lines: list[Line] = []
    for block in page.blocks or ():
        if block.kind != "table" or block.bbox is None:
            continue
        box = block.bbox
        inside = [item for item in items if _in(item, box)]
        rows = [[Cell(_plain(cell.text)) for cell in row] for row in (block.header or [], *(block.rows or ()))]
        said = _letters(" ".join(cell.text for row in rows for cell in row))
        read = [item for item in inside if _letters(item.text) in said]
        if sum(len(item.text) for item in read) < 0.9 * sum(len(item.text) for item in inside) or not read:
            continue  # what is not in its cells would be lost
        items = [item for item in items if all(item is not one for one in read)]
        placed.append(Item(rows_of(rows), box.x, box.y, box.x + box.width, box.y + box.height, 0.0, False))
    for region in _regions([*items, *placed]):
        lines += _lines(region)
    return lines


def _item(found: Any) -> Item:
    bold = "bold" in (found.font_name or "").lower() or "black" in (found.font_name or "").lower()
    size = found.font_height or found.font_size or found.height
    text = clean_line(found.text)
    return Item(text, found.x, found.y, found.x + found.width, found.y + found.height, abs(size), bold)


def _in(item: Item, box: Any) -> bool:
    across = (item.left + item.right) / 2
    return bool(box.x - 1 <= across <= box.x + box.width + 1 and box.y - 1 <= item.middle <= box.y + box.height + 1)


def _plain(text: str) -> str:
    return clean_line(_EMPHASIS.sub("", text).replace("\\\\", ""))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


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
    """Split at an empty vertical strip with columns of text on both sides."""
    edge = -1.0
    for item in sorted(items, key=lambda item: item.left):
        if edge >= 0 and item.left > edge + 5:
            middle = (edge + item.left) / 2
            sides = [[i for i in items if i.right < middle], [i for i in items if i.left > middle]]
            if all(_is_column(side) for side in sides):
                return sides
        edge = max(edge, item.right)
    return [list(items)]


def _is_column(side: Sequence[Item]) -> bool:
    texts = [item for item in side if item.size]
    return len(texts) >= 3 and sorted(len(item.text) for item in texts)[len(texts) // 2] >= _COLUMN


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


def _lines(items: Sequence[Item]) -> list[Line]:
    rows: list[list[Item]] = []
    for item in sorted(items, key=lambda item: item.middle):
        row = rows[-1] if rows else []
        if row and item.size and row[0].size and abs(item.middle - row[0].middle) < 0.4 * max(item.size, row[0].size):
            row.append(item)
        else:
            rows.append([item])
    found = []
    for row in rows:
        row.sort(key=lambda item: item.left)
        most = max(row, key=lambda item: len(item.text))
        text = row[0].text if len(row) == 1 else " ".join(item.text for item in row)
        bold = all(item.bold for item in row)
        found.append(Line(text, round(most.size, 1), bold, row[0].left, -row[0].bottom))
    return found
