"""Read rows from the file formats of data sets: Parquet, JSON Lines, tables with tabs, ranx' JSON and TREC's qrels."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.table import BATCH_ROWS
from chatbot_mvp.errors import DatasetError
from chatbot_mvp.storage.json_object import parse_json

Columns = Mapping[str, tuple[str, ...]]
"""Name of a column in this project -> the names that files have for it."""

DOC_ID: Columns = {"doc_id": ("doc_id", "_id", "id")}
QUERY_ID: Columns = {"query_id": ("query_id", "_id", "id", "query-id")}
JUDGED: Columns = {
    "query_id": ("query_id", "query-id"),
    "doc_id": ("doc_id", "corpus-id", "corpus_id"),
    "score": ("score",),
}
_OWN = {name: name for name in JUDGED}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file with its position, for error messages."""

    path: Path
    place: str
    values: Mapping[str, Any]
    """Column -> value; the needed columns have the names of this project."""
    names: Mapping[str, str]
    """Needed column -> its name in the file."""

    def bad(self, reason: str) -> DatasetError:
        return DatasetError("dataset_file_unreadable", path=str(self.path), reason=f"{self.place}: {reason}")

    def id(self, column: str) -> str:
        value = self.values[column]
        if not isinstance(value, str | int) or value == "":
            raise self.bad(f"{self.names[column]} is {value!r}, which is no id")
        return str(value)

    def text(self, column: str) -> str:
        value = self.values.get(column)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.bad(f"{self.names.get(column, column)} is {value!r}, which is no text")
        # JSON can contain a lone surrogate, which cannot be written as UTF-8.
        return value.encode("utf-8", "replace").decode()

    def grade(self, column: str) -> int:
        """Return a relevance grade. MTEB stores whole numbers as 1.0."""
        value = self.values[column]
        try:
            if float(value) == int(float(value)):
                return int(float(value))
        except (TypeError, ValueError, OverflowError):
            pass
        raise self.bad(f"the score is {value!r}, which is no whole number")


def read_rows(path: Path, needed: Columns, optional: Iterable[str] = (), batch_rows: int = BATCH_ROWS) -> Iterator[Row]:
    """Yield the rows of a Parquet file, of JSON Lines or of a table with tabs.

    Args:
        needed: columns that every row must have. ``optional`` columns are read where they exist.
        batch_rows: rows of a Parquet file that are objects in memory at a time.

    Raises:
        DatasetError (dataset_file_unreadable, missing_column)
    """
    if path.suffix == ".parquet":
        return _parquet(path, needed, optional, batch_rows)
    return (_tab_separated if path.name.removesuffix(".gz").endswith(".tsv") else _json_lines)(path, needed)


def read_judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (query id, document id, grade) of a file of judgements in any of the formats.

    Raises:
        DatasetError (dataset_file_unreadable, missing_column)
    """
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind in (".trec", ".qrels", ".txt"):
        rows: Iterable[Row] = _trec_qrels(path)
    else:
        rows = _ranx_qrels(path) if kind == ".json" else read_rows(path, JUDGED)
    for row in rows:
        yield row.id("query_id"), row.id("doc_id"), row.grade("score")


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, unpacked if its name ends in ".gz", with "\\n" as end of lines.

    Raises:
        DatasetError (dataset_file_unreadable)
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError("dataset_file_unreadable", path=str(path), reason=f"it is not UTF-8 ({error})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError("dataset_file_unreadable", path=str(path), reason=str(error)) from error
    return text.replace("\r\n", "\n")


def _parquet(path: Path, needed: Columns, optional: Iterable[str], batch_rows: int) -> Iterator[Row]:
    """Yield the rows one by one. As a list of objects they would take several times the memory of the texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # With its default, Arrow keeps every row group that was read.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            names = file.schema_arrow.names
            require_once(names, path)
            found = _resolved(path, needed, names)
            columns = [*found.values(), *(name for name in optional if name in names and name not in found.values())]
            renamed = {actual: name for name, actual in found.items()}
            labels = [renamed.get(column, column) for column in columns]
            number = 0
            for batch in file.iter_batches(batch_rows, columns=columns):
                for values in batch.select(columns).rename_columns(labels).to_pylist():
                    number += 1
                    yield Row(path, f"row {number}", values, found)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # Python has no such date, or dictionary
        raise DatasetError("dataset_file_unreadable", path=str(path), reason=str(error).splitlines()[0]) from error


def require_once(names: Sequence[str], path: Path | str) -> None:
    """Check the names of a table's columns; "" is none.

    Raises:
        DatasetError (dataset_file_unreadable): two columns have one name.
    """
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        reason = f"it has two columns of the name {twice[0]!r}"
        raise DatasetError("dataset_file_unreadable", path=str(path), reason=reason)


def _json_lines(path: Path, needed: Columns) -> Iterator[Row]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            values = parse_json(line)
        except ValueError as error:
            raise DatasetError(
                "dataset_file_unreadable", path=str(path), reason=f"{place} is not JSON ({error})"
            ) from error
        if not isinstance(values, dict):
            raise DatasetError("dataset_file_unreadable", path=str(path), reason=f"{place} is not a JSON object")
        found = _resolved(f"{path}:{number}", needed, values)
        yield Row(path, place, values | {name: values[actual] for name, actual in found.items()}, found)


def _tab_separated(path: Path, needed: Columns) -> Iterator[Row]:
    # The format has no quoting: a quotation mark is part of the id.
    lines = [line.split("\t") for line in read_text(path).split("\n")]
    header = lines[0] if lines != [[""]] else []
    require_once(header, path)
    found = _resolved(path, needed, header)
    for number, cells in enumerate(lines[1:], 2):
        if cells == [""]:
            continue
        if len(cells) != len(header):
            reason = f"line {number} has {len(cells)} cells and the header {len(header)}"
            raise DatasetError("dataset_file_unreadable", path=str(path), reason=reason)
        values = dict(zip(header, cells, strict=True))
        yield Row(path, f"line {number}", {name: values[actual] for name, actual in found.items()}, found)


def _trec_qrels(path: Path) -> Iterator[Row]:
    """Yield the lines ``query iteration document grade`` of a TREC file."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 4:
            reason = f"line {number} has {len(cells)} columns in place of 4: query, iteration, document, grade"
            raise DatasetError("dataset_file_unreadable", path=str(path), reason=reason)
        values = {"query_id": cells[0], "doc_id": cells[2], "score": cells[3]}
        yield Row(path, f"line {number}", values, _OWN)


def _ranx_qrels(path: Path) -> Iterator[Row]:
    """Yield the judgements of ranx' JSON, ``{query: {document: grade}}``."""
    for query_id, judged in read_nested(path).items():
        for doc_id, grade in judged.items():
            values = {"query_id": query_id, "doc_id": doc_id, "score": grade}
            yield Row(path, f"query {query_id!r}", values, _OWN)


def read_nested(path: Path) -> dict[str, dict[str, Any]]:
    """Return ranx' JSON, query -> document -> number.

    Raises:
        DatasetError (dataset_file_unreadable)
    """
    try:
        values = parse_json(read_text(path))
    except ValueError as error:
        raise DatasetError("dataset_file_unreadable", path=str(path), reason=f"it is not JSON ({error})") from error
    if not isinstance(values, dict) or not all(isinstance(judged, dict) for judged in values.values()):
        raise DatasetError(
            "dataset_file_unreadable", path=str(path), reason="it is not a JSON object {query: {document: number}}"
        )
    return values


def _resolved(path: Path | str, needed: Columns, found: Iterable[str]) -> dict[str, str]:
    """Return name in this project -> name in the file of the needed columns."""
    names = list(found)
    resolved = {}
    for name, aliases in needed.items():
        actual = next((alias for alias in aliases if alias in names), None)
        if actual is None:
            own = str(path).endswith(".parquet")
            expected = aliases[0] if own or len(aliases) == 1 else aliases[1]
            raise DatasetError(
                "missing_column", path=str(path), column=expected, found=", ".join(n for n in names if n) or "-"
            )
        resolved[name] = actual
    return resolved
