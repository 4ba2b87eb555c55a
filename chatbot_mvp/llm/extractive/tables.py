"""Read the tables of passages back into cells, and numbers and ranges out of cells.

The rows are those that ``documents.reading.grid`` writes ("- Size: L; Price: 12 €"), forms ("- Size: L", "- Price:
12 €") and the tables of Markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from chatbot_mvp.llm.extractive.units import Unit, units_of
from chatbot_mvp.text import cells_of, fold
from chatbot_mvp.types import Chunk

_MARKER = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_BETWEEN = 3
"""Most characters between two passages of a table."""
_ABOVE = 300
"""Characters before a table that are said to be about it."""
_N = r"[€$£]?\s?\d(?:[\d.,]*\d)?"
_U = r"(?:(?!(?:a|o|y|u|or|and|to|hasta)\b)[^\W\d_]+[²³]?|[€$£%])"
_BOUNDS = (
    (rf"(?:(?:de|desde|from) )?(?P<low>{_N}) ?(?P<same>{_U})? ?(?:a|hasta|to|-|–) ?(?P<high>{_N})", ""),
    (rf"(?:entre|between) (?P<low>{_N}) ?(?P<same>{_U})? (?:y|and) (?P<high>{_N})", ""),
    (rf"(?P<low>{_N}) ?(?P<same>{_U})? (?:o mas|or more|en adelante|and over)", ""),
    (rf"(?:al menos|como minimo|a partir de|at least) (?P<low>{_N})", ""),
    (
        rf"(?:mas de|superan?|por encima de|(?:superior|mayor)(?:es)? (?:de|que|a)|more than|over|above) "
        rf"(?:(?:los|las|the) )?(?P<low>{_N})",
        "<",
    ),
    (
        r"(?<!goes )(?<!went )(?<!gone )(?<!sube )(?<!baja )"
        rf"(?:hasta|como mucho|como maximo|up to|at most) (?P<high>{_N})",
        "",
    ),
    (
        rf"(?:menos de|por debajo de|(?:inferior|menor)(?:es)? (?:de|que|a)|less than|fewer than|under|below) "
        rf"(?P<high>{_N})",
        "<",
    ),
)
"""How a folded text says a range, and "<" if its bound is outside of it."""
_PATTERNS = tuple((re.compile(rf"(?<![\w.,:/]){form}(?![\d/:])(?: ?(?P<unit>{_U}))?"), sign) for form, sign in _BOUNDS)
_VALUE = re.compile(rf"(?P<number>{_N}) ?(?P<unit>(?:[^\W\d_]|[€$£%°]).{{0,24}})?")
_DAYS = (
    "lunes martes miercoles jueves viernes sabado domingo".split(),
    "monday tuesday wednesday thursday friday saturday sunday".split(),
)
_NAMED_DAYS = [
    (names, re.compile(rf"\b(?P<first>{one})s?(?: (?:a|to|-|–) (?P<last>{one})s?)?\b"))
    for names in _DAYS
    for one in ["|".join(names)]
]
_SOME_DAYS = (
    (re.compile(r"\b(?:entre semana|laborables|weekdays?)\b"), range(5)),
    (re.compile(r"\b(?:fin(?:es)? de semana|weekends?)\b"), range(5, 7)),
)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?: ?h)?")


@dataclass(frozen=True, slots=True)
class Table:
    """At least two rows with their cells."""

    units: tuple[Unit, ...]
    """A row each."""
    names: tuple[str, ...]
    """Of the columns, which may share one; ("", "") of a form."""
    rows: tuple[tuple[str, ...], ...]
    """The cells, as many to a row as there are names; "" for an empty one."""
    above: str
    """What stands right before it."""
    whole: bool
    """Whether its first and its last row are certainly there."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of numbers."""

    low: Decimal | None
    high: Decimal | None
    open: bool
    """Whether the only bound is outside."""
    unit: str
    """Folded; "" without one."""
    said: str
    """The folded words that say it."""

    @property
    def ends(self) -> tuple[Decimal | None, Decimal | None, bool]:
        return self.low, self.high, self.open

    def holds(self, value: Decimal) -> bool:
        if value in (self.low, self.high):
            return not self.open
        return (self.low is None or value > self.low) and (self.high is None or value < self.high)


Cells = list[tuple[str, str]]
"""(name of the column, text) of each cell that is not empty."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Successive rows of one passage."""

    units: list[Unit]
    cells: list[Cells]
    above: str
    goes_on: tuple[bool, bool]
    """Whether the table may have other rows in the passage before or behind."""
    passage: Chunk


def tables_of(passages: Sequence[Chunk], goes_on: Collection[tuple[str, int]]) -> Iterator[Table]:
    """Yield the tables of passages; one over successive passages of a section is one.

    Args:
        goes_on: as in ``Grounding``.
    """
    found: list[_Rows] = []
    for number in sorted(range(len(passages)), key=lambda at: (passages[at].doc_id, passages[at].start)):
        for rows in _rows_of(number, passages[number], goes_on):
            last = found[-1] if found else None
            if last and rows.goes_on[0] and _follows(last, rows):
                seen = {unit.text for unit in last.units}  # successive passages overlap
                fresh = [at for at, unit in enumerate(rows.units) if unit.text not in seen]
                found[-1] = _Rows(
                    [*last.units, *(rows.units[at] for at in fresh)],
                    [*last.cells, *(rows.cells[at] for at in fresh)],
                    last.above,
                    (last.goes_on[0], rows.goes_on[1]),
                    rows.passage,
                )
            else:
                found.append(rows)
    for rows in found:
        if len(rows.units) > 1:
            yield _table(rows.units, rows.cells, rows.above, not any(rows.goes_on))


def _follows(last: _Rows, rows: _Rows) -> bool:
    """Return whether rows go on with the last ones of the passage before."""
    near = last.passage.doc_id == rows.passage.doc_id and rows.passage.start <= last.passage.end + _BETWEEN
    return last.goes_on[1] and near and _joins(last.cells[0], rows.cells[0])


def _rows_of(number: int, passage: Chunk, goes_on: Collection[tuple[str, int]]) -> Iterator[_Rows]:
    units = units_of(passage.text, number)
    cells = [_cells(unit, passage.text) for unit in units]
    first = 0
    for after in range(1, len(units) + 1):
        if after < len(units) and cells[first] and _joins(cells[first], cells[after]):
            continue
        if cells[first]:
            before = passage.text[: units[first].spans[0][0]]
            edges = (
                not before.strip() and (passage.chunk_id, -1) in goes_on,
                after == len(units) and (passage.chunk_id, 1) in goes_on,
            )
            yield _Rows(units[first:after], cells[first:after], before[-_ABOVE:], edges, passage)
        first = after


def _cells(unit: Unit, text: str) -> Cells:
    if unit.is_row and len(unit.spans) > 1:
        names = text[slice(*unit.spans[0])].split("\n")[0]
        pairs = zip(_split(names), _split(unit.text), strict=False)
        return [(name, cell) for name, cell in pairs if name and cell]
    marker = _MARKER.match(unit.text)
    row = unit.text[marker.end() :] if marker else ""
    return [(name, row[start:end].strip(" *_")) for name, start, end in cells_of(row)]


def _split(line: str) -> list[str]:
    return [cell.strip(" *_") for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _joins(first: Cells, cells: Cells) -> bool:
    """Return whether the cells of two lines are of one table: both begin with one column, or are lines of a form."""
    return bool(cells) and (first[0][0] == cells[0][0] or len(first) == len(cells) == 1)


def _table(units: Sequence[Unit], cells: Sequence[Cells], above: str, whole: bool) -> Table:
    if all(len(row) == 1 for row in cells):
        return Table(tuple(units), ("", ""), tuple(row[0] for row in cells), above, whole)
    apart = [dict(_numbered(row)) for row in cells]
    columns = dict.fromkeys(column for row in apart for column in row)
    rows = tuple(tuple(row.get(column, "") for column in columns) for row in apart)
    return Table(tuple(units), tuple(name for name, _ in columns), rows, above, whole)


def _numbered(row: Cells) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield ((name of the column, how many before it have that name), text) of each cell: a head may span columns."""
    seen: Counter[str] = Counter()
    for name, text in row:
        yield (name, seen[name]), text
        seen[name] += 1


def number_in(text: str, spanish: bool) -> Decimal:
    """Return the number that a text consists of, besides a currency; points and commas as its language writes them."""
    digits = re.sub(r"[^\d.,]", "", text)
    points = digits.count(".") + digits.count(",")
    last = max(digits.rfind("."), digits.rfind(","))
    grouping = "." if spanish else ","
    whole = points and len(digits) - last == 4 and (digits[last] == grouping or points > 1)
    if points and not whole and len(set(digits[:last]) & {digits[last]}) == 0:
        return Decimal(re.sub(r"[.,]", "", digits[:last]) + "." + digits[last + 1 :])
    return Decimal(re.sub(r"[.,]", "", digits))


def value_in(cell: str, spanish: bool) -> tuple[Decimal, str] | None:
    """Return (value, folded unit) of a cell that is a number or a time of day; None if it is none."""
    if clock := _CLOCK.fullmatch(cell.strip()):
        return Decimal(60 * int(clock[1]) + int(clock[2])), ":"
    found = _VALUE.fullmatch(fold(cell.strip()))
    if not found:
        return None
    sign = "".join(re.findall("[€$£]", found["number"]))
    return number_in(found["number"], spanish), sign or (found["unit"] or "").strip()


def bounds_in(text: str, spanish: bool) -> Bounds | None:
    """Return the first range that a folded text says; None if it says none."""
    return next(ranges_in(text, spanish), None)


def ranges_in(text: str, spanish: bool) -> Iterator[Bounds]:
    """Yield the ranges that a folded text says, those with two ends first."""
    for pattern, sign in _PATTERNS:
        for found in pattern.finditer(text):
            parts = found.groupdict()
            low, high = (number_in(parts[end], spanish) if parts.get(end) else None for end in ("low", "high"))
            signs = re.findall("[€$£]", found.group())
            unit = signs[0] if signs else parts.get("unit") or parts.get("same") or ""
            yield Bounds(low, high, sign == "<", unit, found.group())


def days_in(text: str) -> tuple[frozenset[int], str]:
    """Return (the days of the week, from 0, that a folded text names, alone or from one to another; the words)."""
    days, said = set[int](), []
    for pattern, some in _SOME_DAYS:
        for one in pattern.finditer(text):
            days |= {*some}
            said.append(one.group())
    for names, pattern in _NAMED_DAYS:
        for one in pattern.finditer(text):
            first = names.index(one["first"])
            last = names.index(one["last"]) if one["last"] else first
            days |= {day % 7 for day in range(first, last + 1 + 7 * (last < first))}
            said.append(one.group())
    return frozenset(days), " ".join(said)
