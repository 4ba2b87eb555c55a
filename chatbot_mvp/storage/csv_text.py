"""Write tables as CSV that a spreadsheet shows as it is: no cell of text is read as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
"""Beginnings of a cell that a spreadsheet may read as a formula, or as the end of the cell. Some spreadsheets
take the full-width signs for the plain ones."""
_LONGEST_CELL = 10_000_000
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def safe_cell(value: Any) -> Any:
    """Return the value of a cell. A text that a spreadsheet could read as a formula begins with an apostrophe.

    Numbers, and texts that are numbers, stay as they are. Source of the rule: OWASP, "CSV Injection".
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def csv_text(rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> str:
    """Return rows as CSV. None becomes an empty cell.

    Args:
        names: the columns in their order; None for those of the first row.
    """
    columns = list(rows[0]) if names is None else list(names)
    return _written([columns, *([row.get(name) for name in columns] for row in rows)])


def safe_csv(content: str) -> str:
    """Return a CSV that somebody else wrote, with safe cells.

    Raises:
        csv.Error: it is not CSV.
    """
    csv.field_size_limit(_LONGEST_CELL)
    return _written(list(csv.reader(io.StringIO(content, newline=""), strict=True)))


def _written(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([safe_cell(value) for value in row] for row in rows)
    return text.getvalue()
