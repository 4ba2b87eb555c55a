"""Download HotpotQA (Yang et al. 2018, distractor setting) and convert the hub's Parquet files to schema v2.0."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from chatbot_mvp.datasets.row_files import Columns, Row, read_rows
from chatbot_mvp.datasets.source import Notes, Order
from chatbot_mvp.errors import DatasetError, DatasetNotReceived, EmptyDataset
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

BASE_URL = "https://huggingface.co/datasets/hotpotqa/hotpot_qa/resolve/main/distractor"
"""Address of the distractor setting's files on the hub."""

LICENSE = "CC BY-SA 4.0"

SPLITS = {"validation": 1, "train": 2}
"""Split -> number of files."""

NAMES = ("hotpotqa", "hotpotqa_train")
"""Names of the data sets that are made of the splits."""

EXPECTED = {"validation": (7_405, 66_576, 14_810)}
"""Split -> (queries, documents, qrels) in the original files."""

_COLUMNS: Columns = {
    name: (name,) for name in ("id", "question", "answer", "type", "level", "supporting_facts", "context")
}
_LABELS = {"yes", "no"}
_ROWS = 500
"""Questions per batch, each with about ten passages. Limits the memory needed."""


def urls(base_url: str, split: str) -> list[str]:
    """Return the addresses of a split's files."""
    total = SPLITS[split]
    return [f"{base_url.rstrip('/')}/{split}-{number:05d}-of-{total:05d}.parquet" for number in range(total)]


def write(order: Order, progress: ProgressCallback = ignore_progress) -> Notes:
    """Download a split, convert it to schema v2.0, and say what was left out.

    Raises:
        DatasetNotReceived (download_failed): a file could not be downloaded. The next try continues there.
        DatasetError: a file is not in the hub's format.
    """
    from chatbot_mvp.remote.download import download  # its HTTP client is only needed here

    sources = []
    for url in urls(order.address, order.split):
        # Files of different addresses may have equal names, so each address has its own folder.
        folder = order.cache / hashlib.sha256(url.encode()).hexdigest()[:16]
        target = folder / url.rpartition("/")[2]
        download(url, target, partial(_not_received, url), progress)
        sources.append(target)
    notes = convert(sources, order.folder, order.split, progress)
    for target in sources:
        shutil.rmtree(target.parent, ignore_errors=True)
    return notes


def _not_received(url: str, reason: str) -> DatasetNotReceived:
    return DatasetNotReceived("download_failed", url=url, reason=reason)


def convert(
    sources: list[Path], folder: Path, split: str = "validation", progress: ProgressCallback = ignore_progress
) -> Notes:
    """Convert the hub's files of a split to a data set in ``folder``, which exists and is empty.

    Raises:
        DatasetError: a file cannot be read or lacks a column.
    """
    tables = _Tables()
    for number, row in enumerate(row for path in sources for row in read_rows(path, _COLUMNS, batch_rows=_ROWS)):
        tables.add(row)
        if number % _ROWS == 0:
            progress(Progress("convert", number, 0))
    if not tables.queries:
        raise EmptyDataset(path=str(sources[0]))
    qrels, unresolved = tables.write(folder)
    labels = sum(query["answer_type"] == "label" for query in tables.queries)
    counts = (len(tables.queries), len(tables.documents), qrels)
    expected = EXPECTED.get(split)
    lines = [
        f"{_totals(counts)}; {labels:,} yes/no queries",
        f"{tables.repeated:,} passages left out: repeated titles ({tables.differing:,} with another text)",
    ]
    if unresolved:
        lines.append(f"{unresolved:,} qrels left out: their document does not exist")
    if expected:
        differ = "" if counts == expected else " - these files differ"
        lines.append(f"expected of the public files: {_totals(expected)}{differ}")
    values = {
        "expected": list(expected) if expected else None,
        "label_queries": labels,
        "repeated_titles": tables.repeated,
        "of_other_text": tables.differing,
        "qrels_without_document": unresolved,
    }
    return Notes(values, tuple(lines))


def _totals(counts: tuple[int, int, int]) -> str:
    return "{:,} queries, {:,} documents, {:,} qrels".format(*counts)


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

    def add(self, row: Row) -> None:
        try:
            self._add(row.values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{row.place} is not as the hub's are ({error!r})"
            raise DatasetError("dataset_file_unreadable", path=str(row.path), reason=reason) from error

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
