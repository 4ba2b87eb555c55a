"""Data sets of questions, documents and relevance judgements; two layouts, one loader, everything checked.

Schema v2.0: ``corpus.parquet`` (doc_id, title, text), ``queries.parquet`` (query_id, text, answer, answer_type,
question_type, level), ``qrels.parquet`` (query_id, doc_id, score).
BEIR: ``corpus.jsonl``, ``queries.jsonl`` (_id, text, metadata), ``qrels/*.tsv`` (query-id, corpus-id, score).
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import (
    DatasetFileMissing,
    DatasetFileUnreadable,
    DatasetNotFound,
    DuplicateId,
    EmptyDataset,
    MissingColumn,
    UnknownQrelDocument,
    UnknownQrelQuery,
)
from chatbot_mvp.text import detect_language
from chatbot_mvp.types import Document


@dataclass(frozen=True, slots=True)
class Query:
    """A benchmark question."""

    query_id: str
    text: str
    answer: str = ""
    answer_type: str = ""
    """"label" (yes/no), "extractive", or "" when the data set does not say."""
    question_type: str = ""
    level: str = ""


@dataclass(frozen=True)
class Dataset:
    """A checked data set: every qrel names a known query and a known document."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    """query_id -> doc_id -> relevance."""
    sha256: str
    """Of the files' contents, in a fixed order."""

    @cached_property
    def language(self) -> str:
        """Detected from the first documents."""
        return detect_language("\n".join(document.text for document in self.documents[:200]))


def list_datasets(folders: Iterable[Path]) -> dict[str, Path]:
    """Name -> folder of every data set below ``folders``."""
    found: dict[str, Path] = {}
    for root in folders:
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            if (folder / "corpus.parquet").is_file() or (folder / "corpus.jsonl").is_file():
                found.setdefault(folder.name, folder)
    return found


def find_dataset(reference: str, folders: Iterable[Path]) -> Path:
    """The folder of a data set, given its name or its path.

    Raises:
        DatasetNotFound: neither; lists the names that exist.
    """
    known = list_datasets(folders)
    if reference in known:
        return known[reference]
    path = Path(reference).expanduser()
    if path.is_dir():
        return path
    raise DatasetNotFound(name=reference, legal=", ".join(known) or "-")


def load_dataset(folder: Path) -> Dataset:
    """Load and check a data set folder.

    Raises:
        DatasetError: a file or column is missing, an id repeats, a qrel names something unknown.
    """
    beir = not (folder / "corpus.parquet").is_file() and (folder / "corpus.jsonl").is_file()
    files = _beir_files(folder) if beir else [folder / f"{n}.parquet" for n in ("corpus", "queries", "qrels")]
    digest = hashlib.sha256()
    for path in files:
        if not path.is_file():
            raise DatasetFileMissing(path=str(path))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    documents, queries, rows = (_read_beir if beir else _read_parquet)(files)
    if not documents:
        raise EmptyDataset(path=str(files[0]))
    if not queries:
        raise EmptyDataset(path=str(files[1]))
    _refuse_repeated(files[0], (document.doc_id for document in documents))
    _refuse_repeated(files[1], (query.query_id for query in queries))
    qrels = _checked_qrels(rows, {d.doc_id for d in documents}, {q.query_id for q in queries})
    name = folder.resolve().name
    return Dataset(name, tuple(documents), tuple(queries), qrels, digest.hexdigest())


_Rows = list[tuple[str, str, int]]
_Parts = tuple[list[Document], list[Query], _Rows]


def _read_parquet(files: list[Path]) -> _Parts:
    corpus = _table(files[0], ("doc_id", "title", "text"))
    queries = _table(files[1], ("query_id", "text"), ("answer", "answer_type", "question_type", "level"))
    qrels = _table(files[2], ("query_id", "doc_id", "score"))
    name = files[0].parent.name
    return (
        [Document(str(r["doc_id"]), r["title"] or "", r["text"] or "", name) for r in corpus],
        [Query(**{key: str(value) if value is not None else "" for key, value in r.items()}) for r in queries],
        [(str(r["query_id"]), str(r["doc_id"]), int(r["score"])) for r in qrels],
    )


def _table(path: Path, needed: tuple[str, ...], optional: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        _require(path, needed, names)
        columns = [*needed, *(column for column in optional if column in names)]
        rows: list[dict[str, Any]] = pq.read_table(path, columns=columns).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DatasetFileUnreadable(path=str(path), reason=str(error).splitlines()[0]) from error
    for row in rows:
        for column in needed[:1]:
            if row[column] is None:
                raise DatasetFileUnreadable(path=str(path), reason=f"a row has no {column}")
    return rows


def _beir_files(folder: Path) -> list[Path]:
    splits = sorted((folder / "qrels").glob("*.tsv"))
    # Like BEIR itself: the test split, if there is one.
    test = [path for path in splits if path.stem == "test"]
    return [
        folder / "corpus.jsonl",
        folder / "queries.jsonl",
        *(test or splits or [folder / "qrels" / "test.tsv"]),
    ]


def _read_beir(files: list[Path]) -> _Parts:
    name = files[0].parent.name
    documents = [
        Document(str(row["_id"]), row.get("title") or "", row["text"] or "", name)
        for row in _json_lines(files[0], ("_id", "text"))
    ]
    queries = []
    for row in _json_lines(files[1], ("_id", "text")):
        extra = row.get("metadata") or {}
        fields = {key: str(extra.get(key) or "") for key in ("answer", "answer_type", "question_type", "level")}
        queries.append(Query(str(row["_id"]), row["text"], **fields))
    rows: _Rows = []
    for path in files[2:]:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t")
            _require(path, ("query-id", "corpus-id", "score"), reader.fieldnames or [])
            try:
                rows.extend((r["query-id"], r["corpus-id"], int(r["score"])) for r in reader)
            except (TypeError, ValueError) as error:
                raise DatasetFileUnreadable(path=str(path), reason=f"line {reader.line_num}: {error}") from error
    return documents, queries, rows


def _json_lines(path: Path, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DatasetFileUnreadable(path=str(path), reason=f"line {number} is not JSON ({error})") from error
            if not isinstance(row, dict):
                raise DatasetFileUnreadable(path=str(path), reason=f"line {number} is not a JSON object")
            _require(path, needed, row)
            rows.append(row)
    return rows


def _require(path: Path, needed: Iterable[str], found: Iterable[str]) -> None:
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
