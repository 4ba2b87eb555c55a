"""Find tables among the pieces of text of a page by the white space between their columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chatbot_mvp.documents.reading.grid import Cell, is_number, parted, spread
from chatbot_mvp.documents.reading.pdf_whole import Rule, Table, with_names_beside_rows

_GAP = 0.9
"""White space between two cells of a row, in font sizes; wider than that between the words of a justified line."""
_NARROW = 0.6
"""Likewise, between two cells that stand below others."""
_EQUAL = 0.5
"""Points by which the gaps between the words of a justified line may differ."""
_APART = 4.5
"""Distance of two rows of one table, in font sizes."""
_MOST_HEADS = 3
"""Rows of names at most, where a library found the table."""
_MARK = re.compile(r"[•▪◦‣●○■□–—*·-]|\(?\w{1,3}[.)]|\[.{0,3}\]|\d{1,3}")
_YEAR = re.compile(r"(?:19|20)\d\d(?:[-/–]\d{2,4})?")


@dataclass(slots=True, eq=False)
class Item:
    """A piece of text without wide gaps."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    """Font size; for a table that is written already, that of its text below zero."""
    bold: bool
    last: int = 0
    """Of a cell, the last column that it spans."""
    table: Table | None = None
    """What it is the text of, or what the row that it begins is if it is one of a table."""

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


Row = list[Item]


def rows_among(items: Sequence[Item]) -> list[Row]:
    """Return the pieces that stand beside each other, from the top."""
    rows: list[Row] = []
    for item in sorted(items, key=lambda item: item.middle):
        row = rows[-1] if rows and min(item.size, rows[-1][0].size) > 0 else []
        level = row and abs(item.middle - row[0].middle) < 0.4 * max(item.size, row[0].size)
        if level or any(_is_raised(item, other) for other in row):
            row.append(item)
        else:
            rows.append([item])
    for row in rows:
        row.sort(key=lambda item: item.left)
    return rows


def _is_raised(one: Item, other: Item) -> bool:
    """Return whether one of two pieces stands behind the other one, raised or lowered."""
    small, large = sorted((one, other), key=lambda item: item.size)
    shared = min(small.bottom, large.bottom) - max(small.top, large.top)
    touches = abs(max(small.left, large.left) - min(small.right, large.right)) < 0.3 * large.size
    return touches and small.size < 0.9 * large.size and shared > 0.6 * (small.bottom - small.top)


def with_tables(rows: Sequence[Row], rules: Sequence[Rule] = ()) -> list[Row]:
    """Return rows in which each table is one row with one piece."""
    out: list[Row] = []
    cells = [_cells(row, [*rows[max(0, n - 2) : n], *rows[n + 1 : n + 3]]) for n, row in enumerate(rows)]
    at = 0
    while at < len(rows):
        end = _run(cells, at)
        table = _table(cells[at:end], rules) if end > at + 1 else None
        if table is not None:
            parts = [item for row in rows[at:end] for item in row]
            box = min(i.left for i in parts), min(i.top for i in parts), max(i.right for i in parts)
            item = Item(table.text, *box, max(i.bottom for i in parts), -usual_size(parts), False, table=table)
            out.append([item])
            at = end
        else:
            row = cells[at]
            if len(row) > 1 and row[0].size > 0:
                cell = [Cell(item.text, bold=item.bold) for item in row]
                rows[at][0].table = Table((), [], [cell], [(item.left, item.right) for item in row], loose=True)
            out.append(rows[at])
            at += 1
    return out


def usual_size(items: Sequence[Item]) -> float:
    return sorted(item.size for item in items)[len(items) // 2]


def _cells(row: Row, near: Sequence[Row]) -> Row:
    """Join the pieces of a row that are no farther apart than words; those of a justified line are equally far apart,
    however long they are. Pieces below each other are cells.

    Args:
        near: rows above and below.
    """
    out: Row = []

    lefts = Counter(round(2 * one.left) for other in near for one in other[1:])
    rights = Counter(round(2 * one.right) for other in near for one in other[1:])

    def at(places: Counter[int], x: float) -> int:
        return sum(places[round(2 * x) + more] for more in (-1, 0, 1))

    def is_apart(last: Item, item: Item) -> bool:
        gap = (item.left - last.right) / max(item.size, last.size)
        is_mark = len(last.text) < 3 and not last.text.isdigit()
        below = max(at(lefts, item.left), at(rights, item.right) if is_number(item.text) else 0)
        return gap >= _GAP or (gap > _NARROW and not is_mark and below > 1)

    gaps, widths = [b.left - a.right for a, b in pairwise(row)], [item.right - item.left for item in row]
    justified = len(gaps) > 2 and max(gaps) - min(gaps) < _EQUAL and max(widths) - min(widths) > row[0].size
    for item in row:
        last = out[-1] if out else None
        if last is not None and (justified or not is_apart(last, item)):
            joined = f"{last.text} {item.text}"
            out[-1] = replace(last, text=joined, right=max(last.right, item.right), bottom=item.bottom)
        else:
            out.append(item)
    return out


def _run(rows: Sequence[Row], at: int) -> int:
    """Return the end of the rows from ``at`` on that may be a table."""
    last = at
    for place in range(at, len(rows)):
        row = rows[place]
        if row[0].size <= 0:
            break
        if place > at and row[0].middle - rows[place - 1][0].middle > _APART * row[0].size:
            break
        many = len(row) > 1
        drawn = many and all(cell.bold and not is_number(cell.text) for cell in row)
        if drawn and last > at and not any(cell.bold for cell in rows[last]):
            break  # heads of another table
        if place == at and not many:
            return at
        if many:
            last = place
        elif place - last > 3:
            break
    return last + 1


def _table(rows: Sequence[Row], rules: Sequence[Rule]) -> Table | None:
    """Return rows as a table; None if they are none."""
    body = [row for row in rows if len(row) > 1]
    columns = _columns(body)
    if len(columns) < 2 or len(body) < (2 if len(columns) > 2 else 3):
        return None
    placed = [_placed(row, columns) for row in rows]
    first = [row[0].text for row in placed if 0 in row]
    marks = sum(bool(_MARK.fullmatch(text)) for text in first)
    filled = sum(len(row) for row in placed if len(row) > 1) / (len(columns) * len(body))
    if (len(columns) == 2 and marks > len(first) / 2) or filled < 0.4:
        return None
    merged = _merged(placed, columns)
    middles = [sum(cell.middle for cell in row.values()) / len(row) for row in merged]
    grid = with_names_beside_rows([_row(row, len(columns)) for row in merged], middles, columns, rules)
    return Table(*parted(grid, _heads(grid)), columns)


def _columns(body: Sequence[Row]) -> list[tuple[float, float]]:
    """Return (left, right) of each column: what lies between the strips that no row writes on."""
    usual = sorted(len(row) for row in body)[len(body) // 2] if body else 0
    full = [row for row in body if len(row) >= max(2, 0.6 * usual)]
    edges = sorted(
        [(item.left, 1) for row in full for item in row] + [(item.right, -1) for row in full for item in row]
    )
    columns: list[tuple[float, float]] = []
    depth, begin = 0, 0.0
    for x, step in edges:
        if depth <= 0 < depth + step:
            begin = x
        depth += step
        if depth <= 0 < depth - step:
            columns.append((begin, x))
    over = [{n for n, row in enumerate(body) for item in row if left <= item.left <= right} for left, right in columns]
    for n in reversed(range(len(columns) - 1)):
        if {0} in over[n : n + 2] and 0 in over[n] ^ over[n + 1]:  # a name in the middle above its column, beside it
            columns[n : n + 2] = [(columns[n][0], columns[n + 1][1])]
            over[n : n + 2] = [over[n] | over[n + 1]]
    return columns


def _placed(row: Row, columns: Sequence[tuple[float, float]]) -> dict[int, Item]:
    """Return first column -> cell."""
    out: dict[int, Item] = {}
    for item in row:
        over = [
            number
            for number, (left, right) in enumerate(columns)
            if min(right, item.right) - max(left, item.left) > 0.3 * min(right - left, item.right - item.left)
        ]
        nearest = min(range(len(columns)), key=lambda n: abs(sum(columns[n]) - item.left - item.right))
        first, last = (over[0], over[-1]) if over else (nearest, nearest)
        if first in out:
            out[first].text += f" {item.text}"
            out[first].last = max(out[first].last, last)
        else:
            out[first] = replace(item, last=last)
    return out


def _merged(rows: Sequence[dict[int, Item]], columns: Sequence[tuple[float, float]]) -> list[dict[int, Item]]:
    """Join the lines of cells that have several."""
    pitches = [_top(b) - _top(a) for a, b in pairwise(rows)]
    tight = min((pitch for pitch in pitches if pitch > 0), default=0.0) * 1.25
    uniform = all(pitch <= tight for pitch in pitches)
    out: list[dict[int, Item]] = []
    for number, row in enumerate(rows):
        if not out or pitches[number - 1] > tight or not _goes_on(out[-1], row, columns, uniform):
            out.append({})
        for column, cell in row.items():
            above = out[-1].setdefault(column, cell)
            if above is not cell:
                above.text += f" {cell.text}"
                above.right, above.last = cell.right, max(above.last, cell.last)
    return out


def _top(row: dict[int, Item]) -> float:
    return min(cell.top for cell in row.values())


def _goes_on(
    last: dict[int, Item], row: dict[int, Item], columns: Sequence[tuple[float, float]], uniform: bool
) -> bool:
    """Return whether a row is the next line of the cells above it."""
    numbers = [any(is_number(cell.text) for column, cell in part.items() if column) for part in (last, row)]
    if all(numbers) or (numbers[1] and set(last) != {0}):
        return False  # numbers are of a row of their own, or stand beside the last line of its name
    # A line is broken where the next word has no room.
    broken = [_is_full(last[column], row[column], columns) for column in row if column in last]
    if 0 not in row:
        return not numbers[1] and bool(broken) and (not uniform or all(broken))
    if set(row) == set(last) != {0} and uniform:
        return False
    return bool(broken) and all(broken)


def _is_full(above: Item, below: Item, columns: Sequence[tuple[float, float]]) -> bool:
    word = below.text.split(" ", 1)[0]
    letter = (above.right - above.left) / max(1, len(above.text))
    right = max(columns[min(above.last, len(columns) - 1)][1], above.right, below.right)
    return above.right + (len(word) + 1) * letter > right - 0.5 * letter


def _row(row: dict[int, Item], width: int) -> list[Cell]:
    out: list[Cell] = []
    for first, following in pairwise([*sorted({0, *row}), width]):
        cell = row.get(first)
        end = min(cell.last + 1, following) if cell else first + 1
        found = Cell(cell.text, across=end - first, bold=cell.bold) if cell else Cell("")
        out += [found, *[Cell("")] * (following - end)]
    return out


def heads_of(rows: Sequence[Sequence[Cell]]) -> int | None:
    """Return how many rows hold names if the first one, as above several columns, leaves some out; else None."""
    grid = spread(rows)
    found = _heads(grid) if grid and not all(cell.text for cell in grid[0][1:]) else None
    return found if found is not None and found <= _MOST_HEADS else None


def _heads(grid: Sequence[Sequence[Cell]]) -> int | None:
    """Return how many rows stand above the first one with a number; None if that says nothing."""
    for place, row in enumerate(grid[:6]):
        if any(is_number(cell.text) and not _YEAR.fullmatch(cell.text) for cell in row[1:]):
            return place or None
    return None
