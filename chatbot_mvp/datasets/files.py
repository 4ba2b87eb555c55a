"""Load and check a data set folder in either of two layouts.

Schema v2.0: ``corpus.parquet`` (doc_id, title, text), ``queries.parquet`` (query_id, text, answer, answer_type,
question_type, level), ``qrels.parquet`` (query_id, doc_id, score).
BEIR: ``corpus.jsonl``, ``queries.jsonl`` (_id, text, metadata), ``qrels/*.tsv`` (query-id, corpus-id, score).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.model import Dataset, Query
from chatbot_mvp.errors import (
    DatasetFileMissing,
    DatasetFileUnreadable,
    DuplicateId,
    EmptyDataset,
    MissingColumn,
    UnknownQrelDocument,
    UnknownQrelQuery,
)
from chatbot_mvp.types import Document


def load_dataset(folder: Path) -> Dataset:
    """Load and check a data set folder.

    Raises:
        DatasetError: a file or column is missing, an id repeats, or a qrel names an unknown query or document.
    """
    files = dataset_files(folder)
    digest = hashlib.sha256()
    for path in files:
        if not path.is_file():
            raise DatasetFileMissing(path=str(path))
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    read = _read_parquet if files[0].suffix == ".parquet" else _read_beir
    documents, queries, rows = read(files)
    if not documents:
        raise EmptyDataset(path=str(files[0]))
    if not queries:
        raise EmptyDataset(path=str(files[1]))
    _refuse_repeated(files[0], (document.doc_id for document in documents))
    _refuse_repeated(files[1], (query.query_id for query in queries))
    qrels = _checked_qrels(rows, {d.doc_id for d in documents}, {q.query_id for q in queries})
    name = folder.resolve().name
    return Dataset(name, tuple(documents), tuple(queries), qrels, digest.hexdigest())


def dataset_files(folder: Path) -> list[Path]:
    """List the files that a data set's folder must have: corpus, queries, and one or more files of qrels."""
    if not (folder / "corpus.parquet").is_file() and (folder / "corpus.jsonl").is_file():
        return beir_files(folder)
    return [folder / f"{name}.parquet" for name in ("corpus", "queries", "qrels")]


_Rows = list[tuple[str, str, int]]
_Parts = tuple[list[Document], list[Query], _Rows]
_BATCH_ROWS = 2_048
_OPTIONAL = ("answer", "answer_type", "question_type", "level")


def _read_parquet(files: list[Path]) -> _Parts:
    import pyarrow as pa

    name = files[0].parent.name
    documents = [
        Document(_id(r, "doc_id"), _text(r, "title"), _text(r, "text"), name)
        for r in _table(files[0], ("doc_id", "title", "text"))
    ]
    queries = [_query(r, "query_id", r) for r in _table(files[1], ("query_id", "text"), _OPTIONAL)]
    rows = [
        (_id(r, "query_id"), _id(r, "doc_id"), _grade(r, r.values["score"]))
        for r in _table(files[2], ("query_id", "doc_id", "score"))
    ]
    pa.default_memory_pool().release_unused()  # else the pool keeps as much memory as the texts take
    return documents, queries, rows


def _read_beir(files: list[Path]) -> _Parts:
    name = files[0].parent.name
    documents = [
        Document(_id(r, "_id"), _text(r, "title"), _text(r, "text"), name)
        for r in _json_lines(files[0], ("_id", "text"))
    ]
    queries = []
    for r in _json_lines(files[1], ("_id", "text")):
        extra = r.values.get("metadata")
        queries.append(_query(r, "_id", _Row(r.path, r.place, extra if isinstance(extra, dict) else {})))
    rows = [
        (_id(r, "query-id"), _id(r, "corpus-id"), _grade(r, r.values["score"]))
        for path in files[2:]
        for r in _tab_separated(path, ("query-id", "corpus-id", "score"))
    ]
    return documents, queries, rows


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a file with its position, for error messages."""

    path: Path
    place: str
    values: dict[str, Any]

    def bad(self, reason: str) -> DatasetFileUnreadable:
        return DatasetFileUnreadable(path=str(self.path), reason=f"{self.place}: {reason}")


def _id(row: _Row, column: str) -> str:
    value = row.values[column]
    if not isinstance(value, str | int) or value == "":
        raise row.bad(f"{column} is {value!r}, which is no id")
    return str(value)


def _text(row: _Row, column: str) -> str:
    value = row.values.get(column)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise row.bad(f"{column} is {value!r}, which is no text")
    # JSON can contain a lone surrogate, which cannot be written as UTF-8.
    return value.encode("utf-8", "replace").decode()


def _query(row: _Row, id_column: str, extra: _Row) -> Query:
    text = _text(row, "text")
    if not text.strip():
        raise row.bad("the query has no text")
    fields = {name: str(value) for name in _OPTIONAL if (value := extra.values.get(name)) is not None}
    return Query(_id(row, id_column), text, **fields)


def _grade(row: _Row, value: Any) -> int:
    try:
        if float(value) == int(float(value)):
            return int(float(value))
    except (TypeError, ValueError, OverflowError):
        pass
    raise row.bad(f"the score is {value!r}, which is no whole number")


def _table(path: Path, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> Iterator[_Row]:
    """Yield the rows one by one. As a list of objects they would take several times the memory of the texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            _require(path, needed, names)
            columns = [*needed, *(column for column in optional if column in names)]
            rows = (row for batch in file.iter_batches(_BATCH_ROWS, columns=columns) for row in batch.to_pylist())
            for number, values in enumerate(rows, 1):
                yield _Row(path, f"row {number}", values)
    except (pa.ArrowException, OSError) as error:
        raise DatasetFileUnreadable(path=str(path), reason=str(error).splitlines()[0]) from error


def beir_files(folder: Path) -> list[Path]:
    """List corpus, queries and qrels files of a folder in BEIR's layout."""
    splits = sorted((folder / "qrels").glob("*.tsv"))
    # As in BEIR itself, use only the test split if there is one.
    test = [path for path in splits if path.stem == "test"]
    return [
        folder / "corpus.jsonl",
        folder / "queries.jsonl",
        *(test or splits or [folder / "qrels" / "test.tsv"]),
    ]


def _json_lines(path: Path, needed: tuple[str, ...]) -> list[_Row]:
    rows = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetFileUnreadable(path=str(path), reason=f"{place} is not JSON ({error})") from error
        if not isinstance(values, dict):
            raise DatasetFileUnreadable(path=str(path), reason=f"{place} is not a JSON object")
        _require(f"{path}:{number}", needed, values)
        rows.append(_Row(path, place, values))
    return rows


def _tab_separated(path: Path, needed: tuple[str, ...]) -> list[_Row]:
    # The format has no quoting: a quotation mark is part of the id.
    lines = [line.split("\t") for line in _lines(path)]
    header = lines[0] if lines else []
    _require(path, needed, header)
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if cells == [""]:
            continue
        if len(cells) != len(header):
            reason = f"line {number} has {len(cells)} cells and the header {len(header)}"
            raise DatasetFileUnreadable(path=str(path), reason=reason)
        rows.append(_Row(path, f"line {number}", dict(zip(header, cells, strict=True))))
    return rows


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetFileUnreadable(path=str(path), reason=f"it is not UTF-8 ({error})") from error
    return text.replace("\r\n", "\n").split("\n")


def _require(path: Path | str, needed: Iterable[str], found: Iterable[str]) -> None:
    names = list(found)
    for column in needed:
        if column not in names:
            raise MissingColumn(path=str(path), column=column, found=", ".join(names) or "-")


def _refuse_repeated(path: Path, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for item in ids:
        if item in seen:
            raise DuplicateId(path=str(path), id=item)
        seen.add(item)


def _checked_qrels(rows: _Rows, doc_ids: set[str], query_ids: set[str]) -> dict[str, dict[str, int]]:
    unknown_documents = [(query_id, doc_id) for query_id, doc_id, _ in rows if doc_id not in doc_ids]
    if unknown_documents:
        query_id, doc_id = unknown_documents[0]
        raise UnknownQrelDocument(query_id=query_id, doc_id=doc_id, count=len(unknown_documents))
    unknown_queries = [query_id for query_id, _, _ in rows if query_id not in query_ids]
    if unknown_queries:
        raise UnknownQrelQuery(query_id=unknown_queries[0], count=len(unknown_queries))
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, score in rows:
        qrels.setdefault(query_id, {})[doc_id] = score
    return qrels
