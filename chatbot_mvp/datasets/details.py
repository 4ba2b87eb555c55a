"""Describe a data set: its size, language, licence and first questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.datasets import hotpotqa
from chatbot_mvp.datasets.loading import load_dataset
from chatbot_mvp.datasets.model import Dataset

_PREVIEWED = 5
_LONGEST_LICENSE = 200


@dataclass(frozen=True, slots=True)
class QueryPreview:
    """A question of a data set."""

    query_id: str
    question: str
    answer: str
    """Reference answer; "" if the data set has none."""
    gold: tuple[str, ...]
    """Titles of the relevant documents, or their ids if they have no title."""


@dataclass(frozen=True, slots=True)
class DatasetDetails:
    """The properties of a loaded data set."""

    documents: int
    queries: int
    qrels: int
    left_out: int
    """Judgements of documents that the corpus lacks."""
    answered: int
    """Number of queries with a reference answer."""
    language: str
    """Detected language, "es" or "en"."""
    types: Mapping[str, int]
    """question_type -> number of queries; empty if the data set has no types."""
    levels: Mapping[str, int]
    """level -> number of queries; empty if the data set has no levels."""
    preview: tuple[QueryPreview, ...]


def read_details(folder: Path, split: str = "") -> DatasetDetails:
    """Load a data set and describe it.

    Raises:
        DatasetError: the data set cannot be loaded.
    """
    dataset = load_dataset(folder, split)
    shown = []
    for query in dataset.queries[:_PREVIEWED]:
        judged = dataset.qrels.get(query.query_id, {})
        gold = tuple(_title(dataset, doc_id) for doc_id, score in judged.items() if score > 0)
        shown.append(QueryPreview(query.query_id, query.text, query.answer, gold))
    return DatasetDetails(
        documents=len(dataset.documents),
        queries=len(dataset.queries),
        qrels=sum(map(len, dataset.qrels.values())),
        left_out=dataset.left_out,
        answered=sum(bool(query.answer) for query in dataset.queries),
        language=dataset.language,
        types=Counter(query.question_type for query in dataset.queries if query.question_type),
        levels=Counter(query.level for query in dataset.queries if query.level),
        preview=tuple(shown),
    )


def _title(dataset: Dataset, doc_id: str) -> str:
    document = dataset.document(doc_id)
    return document.title if document and document.title else doc_id


def license_of(folder: Path) -> str:
    """Return one line about the licence from the data set's LICENSE or README file; "" if there is none."""
    for path in sorted(folder.glob("LICEN[CS]E*")):
        if lines := [line.strip() for line in _text(path).splitlines() if line.strip()]:
            return lines[0][:_LONGEST_LICENSE]
    for path in sorted(folder.glob("README*")):
        for line in _text(path).splitlines():
            if re.search(r"licen[cs]|licencia", line, re.IGNORECASE):
                return line.strip(" #*->|")[:_LONGEST_LICENSE]
    return hotpotqa.LICENSE if folder.name in hotpotqa.NAMES else ""


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""
