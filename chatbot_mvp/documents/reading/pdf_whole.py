"""What makes a table of a PDF whole: its names where it goes on, and names that stand beside several rows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.documents.reading.grid import Cell, Grid, is_number, parted, written

_LONGEST = 80
"""Characters of a name that goes on over pages."""

Rule = tuple[float, float, float]
"""Left, height and right of a level line."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table on a page."""

    titles: Sequence[str]
    names: Grid
    """Rows with the names of its columns."""
    body: Grid
    columns: Sequence[tuple[float, float]]
    """(left, right) of each."""
    loose: bool = False
    """Whether it is a single row, which may as well be a line of text."""

    @property
    def text(self) -> str:
        return written(self.titles, self.names, self.body)

    def below(self, row: Table) -> Table | None:
        """Return this table with the row above it, if that has its names and it has none; else None."""
        if self.names or self.titles or not row.loose or len(row.columns) != len(self.columns):
            return None
        whole = Table(*parted([*row.body, *self.body]), self.columns)
        return whole if whole.names else None

    def going_on(self, before: Table) -> Table | None:
        """Return this table with the names of the one before it, if it is the rest of that one; else None."""
        places: list[int] = []
        for left, right in self.columns:
            over = [n for n, (a, b) in enumerate(before.columns) if min(right, b) > max(left, a)]
            if len(over) != 1 or over[0] in places:
                return None
            places += over
        width = len(before.columns)
        rows = [*self.names, *self.body]
        if any(len(row) != len(places) for row in rows) or not before.names or len(before.names[0]) != width:
            return None
        if (self.loose and len(places) < width) or any(len(c.text) > _LONGEST for row in before.names for c in row):
            return None
        names, drawn = before.names, _is_bold(before.names)
        if [cell.text for row in self.names for cell in row] == [cell.text for row in names for cell in row]:
            rows = self.body
        elif self.names and (_is_bold(self.names) or (not drawn and _has_numbers(self.body))):
            return None  # names of its own
        body = [[row[places.index(n)] if n in places else Cell("") for n in range(width)] for row in rows]
        if body and [cell.text for cell in body[0]] == [cell.text for cell in names[-1]]:
            del body[0]
        return Table(self.titles, names, body, before.columns)


def _is_bold(rows: Grid) -> bool:
    return all(cell.bold for row in rows for cell in row if cell.text)


def _has_numbers(rows: Grid) -> bool:
    return any(is_number(cell.text) for row in rows for cell in row[1:])


def with_names_beside_rows(
    rows: Sequence[list[Cell]], middles: Sequence[float], columns: Sequence[tuple[float, float]], rules: Sequence[Rule]
) -> list[list[Cell]]:
    """Spread each cell that stands beside several rows: other columns have lines there, its own has none.

    Args:
        middles: height of each row.
        columns: (left, right) of each.
    """
    heights = [
        sorted(height for left, height, right in rules if left < (begin + end) / 2 < right) for begin, end in columns
    ]
    every = sorted(height for column in heights for height in column)
    out = [list(row) for row in rows]
    alone = set()
    for column, own in enumerate(heights):
        bands: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            if column < len(row) and 0 < bisect(own, middles[number]) < len(own):
                bands.setdefault(bisect(own, middles[number]), []).append(number)
        for band in bands.values():
            named = [number for number in band if rows[number][column].text]
            others = [number for number in band if any(c.text for at, c in enumerate(rows[number]) if at != column)]
            apart = {bisect(every, middles[number]) for number in others}
            if len(named) == 1 and len(apart) == len(others) > 1:
                if column and is_number(rows[named[0]][column].text):
                    continue  # of a chart
                for number in band:
                    out[number][column] = rows[named[0]][column]
                alone |= set(named) - set(others)
    return [row for number, row in enumerate(out) if number not in alone]
