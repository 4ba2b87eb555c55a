"""Make the cells of a table, of whatever format, into rows "column: cell; …" that say in any chunk what they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_MOST_SPREAD = 200
"""Characters of a cell that is repeated: in each row as a column's name, or in each row and column that it spans."""
_MOST_CELLS = 400_000
"""Cells of a table with its spans. Over this spans are ignored, since a few bytes of a file can claim any."""
_NUMBER = re.compile(r"[-+−–(<>≤≥~±$€£¥%]{0,3}\s*\d[\d\s.,:'/%–-]*(?:[^\W\d]{0,4}[.²³]?|[€$£¥%]|\([^()]*\))[\s)%*]*")
_VALUE = re.compile(
    r"[^\w\s]{0,3}\d[\d\s.,:/%–-]*(?:[^\W\d]+[.²³]?(?:[ /][^\W\d]+\.?)?)?|\S+@\S+|https?://\S+|www\.\S+"
)
_UNIT = re.compile(r"[^\W\d_]+|[€$£¥%]")
_DIGITS = 3
"""How many digits more a number may have than another one of its kind; an age and a telephone number are of two."""
_IN_BRACKETS = re.compile(r"[(\[][^()\[\]]+[)\]]")
"""A unit below a name."""
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell; rows and columns are filled from the left, around those that span rows from above."""

    text: str
    """One line."""
    head: bool = False
    """Whether the file marks it as a head of its column or row."""
    across: int = 1
    down: int = 1
    bold: bool = False
    """Whether all of it is drawn in bold."""


_NONE = Cell("")


Grid = list[list[Cell]]


def rows_of(rows: Sequence[Sequence[Cell]], heads: int | None = None) -> str:
    """Write each row as a list item, with the names of its columns.

    Args:
        heads: number of rows with names of columns; None to tell it from the cells.
    """
    return written(*parted(rows, heads))


def parted(rows: Sequence[Sequence[Cell]], heads: int | None = None) -> tuple[list[str], Grid, Grid]:
    """Return (titles, rows of names, rows of values) of a table, its spans spread; ``heads`` as in ``rows_of``."""
    grid = spread(rows)
    titles: list[str] = []
    while grid and (heads or len(grid) > 1) and (title := _only(grid[0])) and len(grid[0]) > 1:
        titles.append(title.text)  # a row that spans the table, above its heads, is its title
        grid, heads = grid[1:], max(0, heads - 1) if heads is not None else None
    count = _heads(grid) if heads is None else heads
    return titles, grid[:count], grid[count:]


def written(titles: Sequence[str], heads: Grid, body: Grid) -> str:
    """Write a table in its parts, as ``rows_of`` describes."""
    lines = [line for title in titles for line in (title, "")]
    names = [_name(column) for column in zip(*heads, strict=True)]
    lines += [f"- {line}" for row in body if (line := _line(row, names))]
    # What stands in no row: names of empty columns, and what is too long to be repeated.
    filled = {column for row in body for column, cell in enumerate(row) if cell.text}
    alone = [name for column, name in enumerate(names) if name and column not in filled]
    alone += [cell.text for row in heads for cell in row if len(cell.text) > _MOST_SPREAD]
    if said := "; ".join(dict.fromkeys(filter(None, alone))):
        lines.append(f"- {said}")
    return "\n".join(lines).strip()


def spread(rows: Sequence[Sequence[Cell]]) -> Grid:
    """Return rows of one length, in which a cell stands wherever it spans; empty rows and columns are left out."""
    sizes = [sum(max(1, cell.across) for cell in row) for row in rows]
    spans = sum(max(1, cell.across) * max(1, min(cell.down, len(rows))) for row in rows for cell in row)
    wide = spans <= _MOST_CELLS and max(sizes, default=0) * len(rows) <= 4 * _MOST_CELLS
    places: list[dict[int, Cell]] = [{} for _ in rows]
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in places[number]:
                column += 1
            across = max(1, cell.across) if wide else 1
            down = max(1, min(cell.down, len(rows) - number)) if wide else 1
            # A long text stands once: repeated, it would multiply the document.
            again = cell if len(cell.text) <= _MOST_SPREAD else _NONE
            for below in range(down):
                for beside in range(across):
                    places[number + below][column + beside] = again if below else cell
            column += across
    used = sorted({column for row in places for column, cell in row.items() if cell.text})
    full = [row for row in places if any(cell.text for cell in row.values())]
    return [[row.get(column, _NONE) for column in used] for row in full] if len(used) * len(full) <= 4e6 else []


def _only(row: Sequence[Cell]) -> Cell | None:
    """Return the first cell of a row that has or fills nothing else, or None."""
    return row[0] if row and row[0].text and all(cell is row[0] or not cell.text for cell in row) else None


def _heads(grid: Sequence[Sequence[Cell]]) -> int:
    """Return how many rows at the top hold the names of columns."""
    if len(grid) < 2 or len(grid[0]) < 2:
        return 0
    marked = 0
    while marked < len(grid) - 1 and all(cell.head or not cell.text for cell in grid[marked]):
        if marked and _only(grid[marked]):
            break  # a section
        marked += 1
    if 0 < marked < len(grid) - 1 and any(a is b and a.text for a, b in pairwise(grid[marked - 1])):
        below = grid[marked]  # of names over several columns; one beside them reaches down to those below
        marked += any(a is b and a.text for a, b in zip(grid[marked - 1], below, strict=True))
    if marked:
        return marked
    first = grid[0]
    if max(len(cell.text) for cell in first) > _MOST_SPREAD:
        return 0
    if any(cell.head for row in grid for cell in row[1:]):
        return 0  # the file marks heads elsewhere
    if any(a is b and a.text for a, b in pairwise(first)):  # names over several columns, and those below them
        return 1 + (
            len(grid) > 2 and not any(is_number(cell.text) and not _YEAR.fullmatch(cell.text) for cell in grid[1])
        )
    named = _named(grid)
    units = len(grid) > 2 and not grid[1][0].text and all(_IN_BRACKETS.fullmatch(cell.text) for cell in grid[1][1:])
    return named + (named and units)


def _named(grid: Sequence[Sequence[Cell]]) -> int:
    """Return 1 if the first row of a table that marks none looks like names of columns, else 0."""
    first, body = grid[0], grid[1:]
    if not any(cell.text for cell in first[1:]):
        return 0
    bold = [[cell.bold for cell in row if cell.text] for row in grid]
    if all(bold[0]) and not all(map(all, bold[1:])):
        return 1  # drawn as names, and the rows below are not
    columns = [[row[column].text for row in body if row[column].text] for column in range(len(first))]
    again = any([cell.text for cell in row] == [cell.text for cell in first] for row in body)  # on the next page
    if not again and any(cell.text in values for cell, values in zip(first, columns, strict=True)):
        return 0  # what stands below itself is a value
    # Years are names, unless years stand below them, too.
    years = all(_YEAR.fullmatch(cell.text) for cell in first[1:] if _is_value(cell.text))
    years = years and not all(_YEAR.fullmatch(text) for values in columns[1:] for text in values)
    value = [_is_value(cell.text) and not (years and column) for column, cell in enumerate(first)]
    if not first[0].text or len(first) == 2:
        # Beside an empty corner stand names, numbers too; the values of a form are of many kinds.
        named = not first[0].text or (_is_kind(columns[1]) and not any(value))
        return int(named and all(cell.text for cell in first[1:]))
    of_values = [2 * sum(map(_is_value, values)) > len(values) for values in columns]
    for column, values in enumerate(columns):
        other = column and len(values) > 1 and _is_kind(values) and _unit(first[column].text) != _unit(values[0])
        if value[column] and of_values[column] and not other:
            return 0  # a value above values is one of them
    if any(below and cell.text for below, cell in zip(of_values[1:], first[1:], strict=True)):
        return 1  # a word above values is their name
    if all(value[column] for column, cell in enumerate(first) if cell.text):
        return int(not any(_is_value(text) for values in columns for text in values))  # numbers above words
    return int(all(cell.text for cell in first) and (years or not any(is_number(cell.text) for cell in first)))


def _is_kind(values: Sequence[str]) -> bool:
    """Return whether the values of a column are of one kind, which one name can name."""
    digits = [sum(map(str.isdigit, text)) for text in values]
    alike = bool(values) and max(digits) - min(digits) <= _DIGITS
    return alike and len(set(map(_unit, values))) == 1 and all(map(_is_value, values))


def _unit(text: str) -> str:
    return "".join(_UNIT.findall(text)).casefold()


def _is_value(text: str) -> bool:
    """Return whether a cell holds what names no column: a number with at most two words, a day or an address."""
    return is_number(text) or bool(_VALUE.fullmatch(text))


def is_number(text: str) -> bool:
    """Return whether a cell holds a number, with its unit."""
    return bool(_NUMBER.fullmatch(text))


def _name(cells: Sequence[Cell]) -> str:
    parts = dict.fromkeys(cell.text for cell in cells if cell.text and len(cell.text) <= _MOST_SPREAD)
    return " ".join(parts).rstrip(":")


def _line(row: Sequence[Cell], names: Sequence[str]) -> str:
    """Write a row. Neighbouring columns that one cell spans have it once, with all of their names."""
    found: list[tuple[list[str], Cell]] = []
    for column, cell in enumerate(row):
        name = names[column] if names else ""
        if found and cell is found[-1][1]:
            found[-1][0].append(name)
        elif cell.text:
            found.append(([name], cell))
    if len(found) == 1 and len(found[0][0]) == len(row) > 1:
        return found[0][1].text
    if not names and len(row) == 2 and len(found) == 2:
        return f"{found[0][1].text.rstrip(':')}: {found[1][1].text}"
    named = [(", ".join(dict.fromkeys(name for name in labels if name)), cell.text) for labels, cell in found]
    return "; ".join(f"{name}: {text}" if name and name != text else text for name, text in named)
