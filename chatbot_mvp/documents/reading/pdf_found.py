"""Tables that a library found in a PDF: which are good, what their cells say, and which stand beside several rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from chatbot_mvp.documents.reading.extracted import clean_line
from chatbot_mvp.documents.reading.grid import Cell, parted
from chatbot_mvp.documents.reading.pdf_glyphs import Box, Glyphs
from chatbot_mvp.documents.reading.pdf_tables import Item, heads_of, usual_size
from chatbot_mvp.documents.reading.pdf_whole import Rule, Table, with_names_beside_rows

_NUMBERS = re.compile(r"[-+(]?\d[\d.,]*[%)]?(?: [-+(]?\d[\d.,]*[%)]?)+")
_BESIDE = 0.5
"""Pieces of text beside a table, a row, from which on it lacks a column."""


class FoundTable:
    """A table as liteparse found it."""

    def __init__(self, block: Any, glyphs: Glyphs, rules: Sequence[Rule]) -> None:
        """``rules`` are the level lines of its page."""
        box = block.bbox
        self.mark = Item("", box.x - 1, box.y - 1, box.x + box.width + 1, box.y + box.height + 1, 0.0, False)
        cells = [row for row in (block.header, *(block.rows or ())) if row]
        self.rows = [[Cell(_cell_text(cell, glyphs)) for cell in row] for row in cells]
        boxes = [
            [box_of(one.bbox) if one.bbox is not None and one.text.strip() else None for one in row] for row in cells
        ]
        columns = [list(filter(None, column)) for column in zip_longest(*boxes)]
        self._columns = [_sides(column) for column in columns if column]
        if all(columns):
            middles = [sum(box[1] + box[3] for box in row if box) / 2 / max(1, sum(map(bool, row))) for row in boxes]
            self.rows = with_names_beside_rows(self.rows, middles, self._columns, rules)

    def mirror(self) -> None:
        """Put its first column on the left, where it is on the right."""
        self.rows = [row[::-1] for row in self.rows]
        self._columns = [(-right, -left) for left, right in reversed(self._columns)]

    def read_from(self, items: Sequence[Item]) -> list[Item]:
        """Return the pieces of text that are its cells; none if it is no good."""
        box = self.mark
        level = [item for item in items if box.top <= item.middle <= box.bottom]
        inside = [item for item in level if box.left <= (item.left + item.right) / 2 <= box.right]
        said = _letters(" ".join(cell.text for row in self.rows for cell in row))
        read = [item for item in inside if _letters(item.text) in said]
        whole, found = (len(_letters(" ".join(item.text for item in part))) for part in (inside, read))
        if found < 0.9 * whole or len(said) < 0.99 * found:
            return []  # what is not in its cells would be lost, also where other cells say the same
        lost = Counter(round(item.middle) for item in inside if item not in read)
        if max(lost.values(), default=0) > 1:
            return []  # it lacks a row
        filled = [cell.text for row in self.rows[1:] for cell in row if cell.text]
        if len(level) - len(inside) > _BESIDE * len(self.rows):
            return []
        heights: dict[str, set[int]] = {}
        for item in read:
            heights.setdefault(item.text, set()).add(round(item.middle))
        fused = (
            [heights.get(number, set()) for number in text.split(" ")] for text in filled if _NUMBERS.fullmatch(text)
        )
        # Numbers of one cell that stand below each other are of two rows.
        return [] if any(all(places) and not set.intersection(*places) for places in fused) else read

    def item(self, read: Sequence[Item]) -> Item:
        """Return what stands for it on its page.

        Args:
            read: what ``read_from`` gave.
        """
        bold = {item.text for item in read if item.bold}
        lines = {_letters(item.text): item.text for item in read}
        rows = [[replace(cell, bold=cell.text in bold) for cell in row] for row in self.rows]
        # Where other rows have a piece for each cell, one that is a single piece is a line of text.
        texts = [[said for cell in row if (said := _letters(cell.text))] for row in rows]
        whole = [lines.get("".join(row)) if len(row) > 1 else None for row in texts]
        if 3 * sum(map(bool, whole)) < len(rows):
            rows = [[Cell(line, across=len(row))] if line else row for line, row in zip(whole, rows, strict=True)]
        table = Table(*parted(rows, heads_of(rows)), self._columns)
        return replace(self.mark, text=table.text, size=-usual_size(read), table=table)


def box_of(found: Any) -> Box:
    return found.x, found.y, found.x + found.width, found.y + found.height


def _cell_text(cell: Any, glyphs: Glyphs) -> str:
    text = clean_line(cell.text)
    return glyphs.as_written(text, box_of(cell.bbox)) if cell.bbox is not None else text


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _sides(boxes: Sequence[Box]) -> tuple[float, float]:
    """Return (left, right) of most cells of a column."""
    lefts, rights = sorted(box[0] for box in boxes), sorted(box[2] for box in boxes)
    return lefts[len(lefts) // 2], rights[len(rights) // 2]
