"""Download HotpotQA (Yang et al. 2018, distractor setting) and convert the hub's Parquet files to schema v2.0."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.files import load_dataset
from chatbot_mvp.errors import DatasetFileUnreadable, EmptyDataset, MissingColumn
from chatbot_mvp.storage.files import replaced_folder
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

BASE_URL = "https://huggingface.co/datasets/hotpotqa/hotpot_qa/resolve/main/distractor"
"""Address of the distractor setting's files on the hub."""

LICENSE = "CC BY-SA 4.0"

SPLITS = {"validation": 1, "train": 2}
"""Split -> number of files."""

EXPECTED = {"validation": (7_405, 66_576, 14_810)}
"""Split -> (queries, documents, qrels) in the original files."""

_COLUMNS = ("id", "question", "answer", "type", "level", "supporting_facts", "context")
_LABELS = {"yes", "no"}
_ROWS = 500
"""Questions per batch, each with about ten passages. Limits the memory needed."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of converting a split."""

    name: str
    folder: Path
    queries: int
    documents: int
    qrels: int
    labels: int
    """Number of queries with the answer yes or no."""
    repeated: int
    """Number of passages left out because their title occurred before."""
    differing: int
    """The part of ``repeated`` whose text differed from the first passage with that title, which was kept."""
    unresolved: int
    """Number of judgements left out because no passage has the title that they name."""


def name_of(split: str) -> str:
    """Return the data set's name. The validation split, which runs measure, is called ``hotpotqa``."""
    return "hotpotqa" if split == "validation" else f"hotpotqa_{split}"


def urls(base_url: str, split: str) -> list[str]:
    """Return the addresses of a split's files."""
    total = SPLITS[split]
    return [f"{base_url.rstrip('/')}/{split}-{number:05d}-of-{total:05d}.parquet" for number in range(total)]


def fetch(
    base_url: str, split: str, datasets: Path, cache: Path, progress: ProgressCallback = ignore_progress
) -> Fetched:
    """Download a split and replace ``<datasets>/<name>/`` with it, once all files are complete.

    Args:
        cache: folder for complete and partial downloads.

    Raises:
        DownloadFailed: a file could not be downloaded.
        DatasetError: a file is not in the hub's format.
    """
    from chatbot_mvp.datasets.download import download  # its HTTP client is only needed here

    sources = []
    for url in urls(base_url, split):
        # Files of different addresses may have equal names, so each address has its own folder.
        folder = cache / hashlib.sha256(url.encode()).hexdigest()[:16]
        target = folder / url.rpartition("/")[2]
        download(url, target, progress)
        sources.append(target)
    fetched = convert(sources, datasets / name_of(split), progress)
    for target in sources:
        shutil.rmtree(target.parent, ignore_errors=True)
    return fetched


def convert(sources: list[Path], folder: Path, progress: ProgressCallback = ignore_progress) -> Fetched:
    """Convert the hub's files to a data set in ``folder``, which is replaced.

    Raises:
        DatasetError: a file cannot be read or lacks a column; ``folder`` stays as it was.
    """
    tables = _Tables()
    for number, (path, row) in enumerate(_rows(sources)):
        tables.add(path, number, row)
        if number % _ROWS == 0:
            progress(Progress("convert", number, 0))
    if not tables.queries:
        raise EmptyDataset(path=str(sources[0]))
    with replaced_folder(folder) as work:
        qrels, unresolved = tables.write(work)
        load_dataset(work)
    labels = sum(query["answer_type"] == "label" for query in tables.queries)
    counts = (len(tables.queries), len(tables.documents), qrels)
    return Fetched(folder.name, folder, *counts, labels, tables.repeated, tables.differing, unresolved)


@dataclass
class _Tables:
    """Collects the rows of the three tables."""

    documents: dict[str, dict[str, str]] = field(default_factory=dict)
    """title -> row"""
    queries: list[dict[str, str]] = field(default_factory=list)
    gold: list[tuple[str, str]] = field(default_factory=list)
    """(query id, title)"""
    repeated: int = 0
    differing: int = 0

    def add(self, path: Path, number: int, row: Mapping[str, Any]) -> None:
        try:
            self._add(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"row {number + 1} is not as the hub's are ({error!r})"
            raise DatasetFileUnreadable(path=str(path), reason=reason) from error

    def _add(self, row: Mapping[str, Any]) -> None:
        context = row["context"]
        for title, sentences in zip(context["title"], context["sentences"], strict=True):
            text = _joined(sentences)
            if title in self.documents:
                self.repeated += 1
                self.differing += self.documents[title]["text"] != text
            else:
                self.documents[title] = {"doc_id": doc_id_of(title), "title": title, "text": text}
        answer = row["answer"].strip()
        self.queries.append(
            {
                "query_id": row["id"],
                "text": row["question"].strip(),
                "answer": answer,
                "answer_type": "label" if answer.lower() in _LABELS else "extractive",
                "question_type": row["type"],
                "level": row["level"],
            }
        )
        # The hub names a passage once per supporting sentence: keep one judgement per passage.
        self.gold += [(row["id"], title) for title in dict.fromkeys(row["supporting_facts"]["title"])]

    def write(self, folder: Path) -> tuple[int, int]:
        """Write the tables; return (qrels written, judgements left out)."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        qrels = [
            {"query_id": query_id, "doc_id": self.documents[title]["doc_id"], "score": 1}
            for query_id, title in self.gold
            if title in self.documents
        ]
        tables = {"corpus": list(self.documents.values()), "queries": self.queries, "qrels": qrels}
        for name, rows in tables.items():
            pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet", compression="zstd")
        return len(qrels), len(self.gold) - len(qrels)


def doc_id_of(title: str) -> str:
    """Return the id of a title, 16 hex digits, equal in every version of the corpus."""
    return hashlib.sha1(title.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]


def _joined(sentences: list[str]) -> str:
    """Join sentences to one text. Most of the hub's sentences include a space at one end; add it where missing."""
    text = ""
    for sentence in sentences:
        gap = " " if text and sentence and not text[-1].isspace() and not sentence[0].isspace() else ""
        text += gap + sentence
    return text.strip()


def _rows(sources: list[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in sources:
        try:
            # With its default, Arrow keeps every row group that was read.
            with pq.ParquetFile(path, pre_buffer=False) as file:
                names = file.schema_arrow.names
                for column in _COLUMNS:
                    if column not in names:
                        raise MissingColumn(path=str(path), column=column, found=", ".join(names) or "-")
                for batch in file.iter_batches(_ROWS, columns=list(_COLUMNS)):
                    for row in batch.to_pylist():
                        yield path, row
        except (pa.ArrowException, OSError) as error:
            raise DatasetFileUnreadable(path=str(path), reason=str(error).splitlines()[0]) from error
