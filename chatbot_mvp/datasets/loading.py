"""Load and check a data set folder. ``layout`` finds its files, ``row_files`` reads their rows.

Schema v2.0: ``corpus.parquet`` (doc_id, title, text), ``queries.parquet`` (query_id, text, answer, answer_type,
question_type, level, history), ``qrels.parquet`` (query_id, doc_id, score).
BEIR and MTEB: ``corpus.jsonl`` (_id, title, text), ``queries.jsonl`` (_id, text, metadata), ``qrels/*.tsv``
(query-id, corpus-id, score); the columns are the same in ``.jsonl.gz`` and Parquet.
``history`` is the conversation before a query, in the forms of ``history.read_history``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from chatbot_mvp.datasets.history import read_history
from chatbot_mvp.datasets.layout import DEFAULT_SPLIT, folder_layout
from chatbot_mvp.datasets.model import Dataset, Query
from chatbot_mvp.datasets.row_files import DOC_ID, QUERY_ID, Row, read_judgements, read_rows
from chatbot_mvp.datasets.table import DocumentTable
from chatbot_mvp.errors import DatasetError, EmptyDataset
from chatbot_mvp.storage.files import sha256_of
from chatbot_mvp.types import Document

_OPTIONAL = ("answer", "answer_type", "question_type", "level")
_TEXT = {"text": ("text",)}


def load_dataset(folder: Path, split: str = "") -> Dataset:
    """Load and check a data set folder.

    Args:
        split: split of the judgements; "" for the default of ``Layout.choose``.

    Raises:
        DatasetError: a file or column is missing, an id repeats, a qrel names an unknown query, none names a known
            document, or there is no such split.
    """
    chosen = folder_layout(folder).choose(str(folder), split)
    digest = hashlib.sha256()
    for name in chosen.files:
        digest.update(sha256_of(folder / name))
    corpus, asked, judged = ([folder / name for name in part] for part in (chosen.corpus, chosen.queries, chosen.qrels))
    name = folder.resolve().name
    documents = DocumentTable(_document(row, name) for path in corpus for row in _corpus_rows(path))
    extra = (*_OPTIONAL, "metadata", "history")
    queries = [_query(row) for path in asked for row in read_rows(path, {**QUERY_ID, **_TEXT}, extra)]
    if not documents:
        raise EmptyDataset(path=str(corpus[0]))
    if not queries:
        raise EmptyDataset(path=str(asked[0]))
    if (repeated := documents.repeated()) is not None:
        raise DatasetError("duplicate_id", path=str(corpus[0]), id=repeated)
    _refuse_repeated(asked[0], (query.query_id for query in queries))
    rows = chain.from_iterable(read_judgements(path) for path in judged)
    qrels, left_out = _checked_qrels(rows, documents.rows, {q.query_id for q in queries})
    if any(path.suffix == ".parquet" for path in (*corpus, *asked)):
        import pyarrow as pa

        pa.default_memory_pool().release_unused()  # else the pool keeps as much memory as the texts take
    # Runs over different splits must not look like runs over the same questions.
    shown = f"{name}/{split}" if split and split != DEFAULT_SPLIT else name
    return Dataset(shown, documents, tuple(queries), qrels, digest.hexdigest(), chosen.split, left_out)


def check_dataset(folder: Path) -> None:
    """Load and check a folder that is to become a data set, with its default split or else its first one.

    Raises:
        DatasetError
    """
    layout = folder_layout(folder)
    load_dataset(folder, layout.splits[0] if layout.qrels and layout.default is None else "")


def dataset_files(folder: Path, split: str = "") -> list[Path]:
    """List the files that ``load_dataset`` reads: corpus, queries and judgements.

    Raises:
        DatasetError: a part is missing, or there is no such split.
    """
    return [folder / name for name in folder_layout(folder).choose(str(folder), split).files]


def _corpus_rows(path: Path) -> Iterable[Row]:
    # Schema v2.0 requires a title; BEIR and MTEB do not.
    title = {"title": ("title",)} if path.name == "corpus.parquet" else {}
    return read_rows(path, {**DOC_ID, **title, **_TEXT}, ("title",))


def _document(row: Row, source: str) -> Document:
    return Document(row.id("doc_id"), row.text("title"), row.text("text"), source)


def _query(row: Row) -> Query:
    text = row.text("text")
    if not text.strip():
        raise row.bad("the query has no text")
    metadata = row.values.get("metadata")
    extra = {**row.values, **(metadata if isinstance(metadata, dict) else {})}
    fields = {name: str(value) for name in _OPTIONAL if (value := extra.get(name)) is not None}
    try:
        history = read_history(extra.get("history"))
    except ValueError as error:
        raise row.bad(str(error)) from error
    return Query(row.id("query_id"), text, **fields, history=history)


def _refuse_repeated(path: Path, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for item in ids:
        if item in seen:
            raise DatasetError("duplicate_id", path=str(path), id=item)
        seen.add(item)


def _checked_qrels(
    judgements: Iterable[tuple[str, str, int]], doc_ids: Container[str], query_ids: Container[str]
) -> tuple[dict[str, dict[str, int]], int]:
    """Return the judgements, and how many were left out because the corpus lacks their document."""
    # TREC files, whose columns are separated by white space, have ids with percent-encoded white space.
    rows = [(_known(query, query_ids), _known(doc, doc_ids), grade) for query, doc, grade in judgements]
    missing = [(query_id, doc_id) for query_id, doc_id, _ in rows if doc_id not in doc_ids]
    if missing and len(missing) == len(rows):  # the judgements of another corpus
        query_id, doc_id = missing[0]
        raise DatasetError("unknown_qrel_document", query_id=query_id, doc_id=doc_id, count=len(missing))
    unknown_queries = [query_id for query_id, _, _ in rows if query_id not in query_ids]
    if unknown_queries:
        raise DatasetError("unknown_qrel_query", query_id=unknown_queries[0], count=len(unknown_queries))
    qrels: dict[str, dict[str, int]] = {}
    for query_id, doc_id, score in rows:
        if doc_id in doc_ids:
            qrels.setdefault(query_id, {})[doc_id] = score
    return qrels, len(missing)


def _known(given: str, known: Container[str]) -> str:
    if given in known or "%" not in given:
        return given
    decoded = unquote(given)
    return decoded if decoded in known else given
