"""Read data sets of answers from JSON Lines, CSV or Parquet with Ragas' column names, and write them with scores."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.row_files import require_once
from chatbot_mvp.errors import DatasetError, EmptyDataset
from chatbot_mvp.storage.csv_text import csv_text
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.ragas.judging import Row

SUFFIXES = (".jsonl", ".csv", ".parquet")

_OLDER = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
    "user_inputs": "user_input",
    "responses": "response",
    "references": "reference",
}
"""Column name before Ragas 0.2, or in the plural -> column name since."""
_LISTS = ("retrieved_contexts", "retrieved_context_ids", "reference_context_ids")
_TEXTS = ("user_input", "response", "reference")
_IDS = ("id", "query_id")


@dataclass(frozen=True, slots=True)
class InputRow:
    """A row of a data set of answers."""

    row_id: str
    """Its ``id`` or ``query_id``, else its number ("r0001")."""
    row: Row
    given: Mapping[str, Any]
    """All columns of the input row, unchanged, as JSON values."""


def read_rows(path: Path, name: str = "") -> list[InputRow]:
    """Read the rows of a file. Errors call the file ``name`` if it is given.

    A list in a CSV cell is a JSON array, or a Python list as pandas writes it; any other text is a list of one text.

    Raises:
        DatasetError: the file is missing or has another format, or a row is invalid (with its number).
        DatasetError (missing_column): no row has a question or a response.
        DatasetError (duplicate_id), EmptyDataset: an id repeats, or there are no rows.
    """
    source = name or str(path)
    return rows_from(given_rows(path, source), source)


def given_rows(path: Path, source: str) -> list[dict[str, Any]]:
    """Read the columns of all rows of a file, as JSON values that are not checked; NaN is None.

    Args:
        source: name of the file in errors.

    Raises:
        DatasetError (dataset_file_unreadable): the file is missing or has another format.
    """
    readers = dict(zip(SUFFIXES, (_json_lines, _csv_rows, _parquet_rows), strict=True))
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DatasetError("dataset_file_unreadable", path=source, reason=f"only {', '.join(SUFFIXES)} are read")
    try:
        given = list(reader(path, source))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DatasetError("dataset_file_unreadable", path=source, reason=str(error)) from error
    return _without_nan(given)


def rows_from(given: Sequence[Mapping[str, Any]], source: str) -> list[InputRow]:
    """Check rows that are in memory, as ``read_rows`` does.

    Args:
        source: name of the rows in errors.
    """
    rows = []
    seen: set[str] = set()
    for number, columns in enumerate(_without_nan(given), 1):
        try:
            row = _row(columns)
        except (TypeError, ValueError) as error:
            raise DatasetError("dataset_file_unreadable", path=source, reason=f"row {number}: {error}") from error
        row_id = next((str(columns[name]) for name in _IDS if columns.get(name) not in (None, "")), f"r{number:04d}")
        if row_id in seen:
            raise DatasetError("duplicate_id", path=source, id=row_id)
        seen.add(row_id)
        rows.append(InputRow(row_id, row, columns))
    if not rows:
        raise EmptyDataset(path=source)
    if not any(row.row.user_input or row.row.response for row in rows):
        found = ", ".join(given[0]) or "nothing"
        raise DatasetError("missing_column", path=source, column="user_input", found=found)
    return rows


def identity(rows: Iterable[InputRow]) -> str:
    """Return the SHA-256 of ids, questions and references. Answers of two systems are comparable if it is equal."""
    digest = hashlib.sha256()
    for row in rows:
        for text in (row.row_id, row.row.user_input or "", row.row.reference or ""):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\x00")
    return digest.hexdigest()


def content_key(rows: Iterable[InputRow]) -> str:
    """Return the SHA-256 of the rows' whole content."""
    text = json.dumps([[row.row_id, row.given] for row in rows], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def to_json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Write the rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace")


def to_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Write the rows as CSV with a header. Lists become JSON arrays, None becomes an empty cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return csv_text([{name: _cell(value) for name, value in row.items()} for row in rows], names).encode(
        "utf-8", "replace"
    )


def _without_nan(given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with None for NaN, which Ragas writes for a missing score: JSON has no NaN."""

    def is_nan(value: Any) -> bool:
        return isinstance(value, float) and math.isnan(value)

    return [{name: None if is_nan(value) else value for name, value in columns.items()} for columns in given]


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _row(columns: Mapping[str, Any]) -> Row:
    named = {_OLDER.get(name, name): value for name, value in columns.items() if value is not None}
    values: dict[str, Any] = {}
    for name in _TEXTS:
        value = named.get(name)
        if isinstance(value, list) and name == "reference":
            value = value[0] if value else None
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name!r} is {type(value).__name__}, not a text")
        values[name] = value
    for name in _LISTS:
        if name in named:
            values[name] = _list(name, named[name])
    return Row(**values)


def _list(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        text = value.strip()
        if not text.startswith("["):
            return [value] if text else []
        value = _array(text)
    if not isinstance(value, list):
        raise TypeError(f"{name!r} is {type(value).__name__}, not a list")
    if name == "retrieved_contexts" and not all(isinstance(item, str) for item in value):
        raise TypeError(f"{name!r} holds something that is not a text")
    return value


def _array(text: str) -> Any:
    """Parse a JSON array, or a list as Python prints it, because pandas writes lists to CSV in that form."""
    try:
        return parse_json(text)
    except ValueError as error:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"a list that is no JSON array: {error}") from error


def _json_lines(path: Path, source: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DatasetError("dataset_file_unreadable", path=source, reason=f"line {number}: {error}") from error
        if not isinstance(row, dict):
            raise DatasetError("dataset_file_unreadable", path=source, reason=f"line {number}: no JSON object")
        rows.append(row)
    return rows


def _csv_rows(path: Path, source: str) -> list[dict[str, Any]]:
    csv.field_size_limit(10_000_000)
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        require_once(reader.fieldnames or (), source)
        return [{name: value or None for name, value in row.items() if name} for row in reader]


def _parquet_rows(path: Path, source: str) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        require_once(table.column_names, source)
        rows: list[dict[str, Any]] = json.loads(json.dumps(table.to_pylist(), default=str))
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # Python has no such date, or dictionary
        raise DatasetError("dataset_file_unreadable", path=source, reason=str(error)) from error
    return rows
