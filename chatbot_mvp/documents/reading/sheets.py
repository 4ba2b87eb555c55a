"""Read spreadsheets: each sheet is a section, and each of its tables has rows as ``grid.rows_of`` writes them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from python_calamine import CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from chatbot_mvp.documents.reading.charts import drawn
from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted, clean_line
from chatbot_mvp.documents.reading.grid import Cell, is_number, rows_of
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_zip, parsed_xml
from chatbot_mvp.errors import UploadError

_MOST_ROWS = 200_000
_SEPARATOR = re.compile(r"\A\ufeff?sep=.\r?\n", re.I)
"""The line that tells Excel how columns are separated."""

_Span = tuple[int, int, int, int]
"""First row, first column, last row, last column, from 0."""


def read(file: GivenFile) -> Extracted:
    """Read the values of the visible sheets, of formulas the results that the file has.

    Raises:
        UploadError (upload_encrypted, upload_too_many_rows, upload_damaged): the file cannot be read.
    """
    lost: Counter[str] = Counter()
    names: Mapping[str, bytes] = {}
    if file.content.startswith(b"PK"):
        names = check_zip(file.name, file.content, ".xlsx")
        lost["pictures"] = sum("/media/" in name or name.startswith("Pictures/") for name in names)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(file.content), load_tables="xl/workbook.xml" in names)
    except PasswordError as error:
        raise UploadError("upload_encrypted", name=file.name) from error
    marked = list(map(book.get_table_by_name, book.table_names or ())) if "xl/workbook.xml" in names else []
    parts: list[str] = []
    visible = [sheet.name for sheet in book.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible]
    charts: dict[str, list[str]] = {}
    for name, part in names.items():
        if re.fullmatch(r"xl/charts/chart\d*\.xml", name):
            sheet_of, texts = _of_chart(parsed_xml(part), visible, lost)
            charts.setdefault(sheet_of, []).extend(texts)
    for place, sheet in enumerate(book.sheets_metadata):
        if sheet.typ != SheetTypeEnum.WorkSheet:
            lost["charts"] += not names or sheet.typ != SheetTypeEnum.ChartSheet
            continue
        found = book.get_sheet_by_index(place)
        if found.total_height > _MOST_ROWS:
            raise UploadError("upload_too_many_rows", name=file.name, rows=found.total_height, limit=_MOST_ROWS)
        values = [[_said(value) for value in row] for row in found.to_python(skip_empty_area=False)]
        if sheet.visible != SheetVisibleEnum.Visible:
            lost["hidden"] += sum(len(value.split()) for row in values for value in row)
            continue
        merged = [(*first, *last) for first, last in found.merged_cell_ranges or ()]
        heads = {
            (table.start[0] - 1, table.start[1] + column): name
            for table in marked
            if table.sheet == sheet.name and table.start
            for column, name in enumerate(table.columns)
        }
        tables = [rows_of(table) for table in _tables(values, merged, heads)] + charts.pop(sheet.name, [])
        if tables:
            parts.append("\n\n".join([f"## {clean_line(sheet.name)}", *filter(None, tables)]))
    parts += [text for texts in charts.values() for text in texts]
    return Extracted("\n\n".join(parts), lost=dict(+lost))


def _of_chart(chart: Any, visible: Sequence[str], lost: Counter[str]) -> tuple[str, list[str]]:
    """Return the sheet whose cells have a chart's values, and its title; or "", and the title with the values."""
    try:
        titles, rows = drawn(chart)
    except (AttributeError, ValueError):  # none, or numbers that are none: the sheet is read without it
        lost["charts"] += 1
        return "", []
    places = [(place.text or "").rpartition("!")[0].strip("'").replace("''", "'") for place in chart.iter("{*}f")]
    here = bool(places) and set(places) <= set(visible)
    cells = [] if here else [[Cell(clean_line(cell)) for cell in row] for row in rows]
    table = rows_of(cells, int(any(map(any, rows[:1]))))
    return places[0] if here else "", list(filter(None, [" ".join(map(clean_line, titles)), table]))


def read_csv(file: GivenFile) -> Extracted:
    """Read a text whose columns are separated by commas, semicolons, tabs or bars.

    Raises:
        UploadError (upload_too_many_rows)
    """
    text, _, lost = decode(file.content)
    text = _SEPARATOR.sub("", text)
    marks = "\t;|,"
    if not file.name.lower().endswith(".tsv"):
        rows = text[:20_000].splitlines()[:50]
        # The mark that most lines have equally often.
        marks = max(
            marks, key=lambda mark: max(Counter(row.count(mark) for row in rows if mark in row).values(), default=0)
        )
    csv.field_size_limit(10_000_000)
    found = [[clean_line(value) for value in row] for row in csv.reader(io.StringIO(text, ""), delimiter=marks[0])]
    if len(found) > _MOST_ROWS:
        raise UploadError("upload_too_many_rows", name=file.name, rows=len(found), limit=_MOST_ROWS)
    return Extracted(rows_of([list(map(Cell, row)) for row in found]), lost={"bytes": lost} if lost else {})


def _said(value: Any) -> str:
    """Return a value as people write it: whole numbers without a fraction, days without a time."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    if isinstance(value, dt.datetime):
        return str(value.date()) if value.time() == dt.time() else str(value)
    return clean_line(str(value))


def _tables(
    values: Sequence[Sequence[str]], merged: Sequence[_Span], heads: Mapping[tuple[int, int], str]
) -> list[list[list[Cell]]]:
    """Cut a sheet at empty rows and columns into tables; ``heads`` are the names of columns that the file marks."""
    spans = {(top, left): (right - left + 1, bottom - top + 1) for top, left, bottom, right in merged}
    covered = {
        (row, column): (top, left)
        for top, left, bottom, right in merged
        if math.prod(spans[top, left]) <= 10_000
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
        if (row, column) != (top, left)
    }

    def filled(row: int, column: int) -> bool:
        top, left = covered.get((row, column), (row, column))
        return bool(values[row][column] or values[top][left])

    tables: list[list[list[Cell]]] = []
    sides: tuple[int, int] | None = None
    for top, left, bottom, right in _blocks(0, 0, len(values) - 1, max(map(len, values), default=0) - 1, filled):
        cells = [
            [
                Cell(text, heads.get((row, column)) == text, *spans.get((row, column), (1, 1)))
                for column, text in enumerate(values[row][left : right + 1], left)
                if (row, column) not in covered
            ]
            for row in range(top, bottom + 1)
        ]
        if sides == (left, right) and any(is_number(cell.text) for cell in cells[0]):
            tables[-1] += cells  # a table with an empty row inside
        else:
            tables.append(cells)
        sides = left, right
    return tables


def _blocks(top: int, left: int, bottom: int, right: int, filled: Any) -> Iterator[_Span]:
    rows = [any(filled(row, column) for column in range(left, right + 1)) for row in range(top, bottom + 1)]
    columns = [any(filled(row, column) for row in range(top, bottom + 1)) for column in range(left, right + 1)]
    down = [(top + first, top + last) for first, last in _runs(rows)]
    across = [(left + first, left + last) for first, last in _runs(columns)]
    if len(down) == 1 and len(across) == 1:
        yield down[0][0], across[0][0], down[0][1], across[0][1]
        return
    for first, last in down:
        for begin, end in across if len(down) == 1 else [(left, right)]:
            yield from _blocks(first, begin, last, end, filled)


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    starts = [place for place, mark in enumerate(marks) if mark and not (place and marks[place - 1])]
    ends = [place for place, mark in enumerate(marks) if mark and not (place + 1 < len(marks) and marks[place + 1])]
    return list(zip(starts, ends, strict=True))
