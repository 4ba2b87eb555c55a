"""What a data set is about: its parts, its language, its licence and a few of its questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.datasets import hotpotqa
from chatbot_mvp.datasets.files import load_dataset

_PREVIEWED = 5
_LONGEST_LICENSE = 200


@dataclass(frozen=True, slots=True)
class QueryPreview:
    """A question of a data set."""

    query_id: str
    question: str
    answer: str
    """"" where the data set has none."""
    gold: tuple[str, ...]
    """Titles, or ids where there is none, of the documents that were judged relevant."""


@dataclass(frozen=True, slots=True)
class DatasetDetails:
    """A data set that was read."""

    documents: int
    queries: int
    qrels: int
    answered: int
    """Queries with a reference answer."""
    language: str
    """Detected: "es" or "en"."""
    types: Mapping[str, int]
    """Queries by question_type; empty where the data set does not say."""
    levels: Mapping[str, int]
    preview: tuple[QueryPreview, ...]


def read_details(folder: Path) -> DatasetDetails:
    """
    Raises:
        DatasetError
    """
    dataset = load_dataset(folder)
    titles = {document.doc_id: document.title for document in dataset.documents}
    shown = []
    for query in dataset.queries[:_PREVIEWED]:
        judged = dataset.qrels.get(query.query_id, {})
        gold = tuple(titles[doc_id] or doc_id for doc_id, score in judged.items() if score > 0)
        shown.append(QueryPreview(query.query_id, query.text, query.answer, gold))
    return DatasetDetails(
        documents=len(dataset.documents),
        queries=len(dataset.queries),
        qrels=sum(map(len, dataset.qrels.values())),
        answered=sum(bool(query.answer) for query in dataset.queries),
        language=dataset.language,
        types=Counter(query.question_type for query in dataset.queries if query.question_type),
        levels=Counter(query.level for query in dataset.queries if query.level),
        preview=tuple(shown),
    )


def splits_of(folder: Path) -> tuple[str, ...]:
    """The splits of BEIR's qrels, of which runs use "test" where there is one; empty for Parquet, which has none."""
    if (folder / "corpus.parquet").is_file():
        return ()
    return tuple(sorted(path.stem for path in (folder / "qrels").glob("*.tsv")))


def license_of(folder: Path) -> str:
    """What the data set's own files say of its licence, in a line; "" where they say nothing."""
    for path in sorted(folder.glob("LICEN[CS]E*")):
        if lines := [line.strip() for line in _text(path).splitlines() if line.strip()]:
            return lines[0][:_LONGEST_LICENSE]
    for path in sorted(folder.glob("README*")):
        for line in _text(path).splitlines():
            if re.search(r"licen[cs]|licencia", line, re.IGNORECASE):
                return line.strip(" #*->|")[:_LONGEST_LICENSE]
    return hotpotqa.LICENSE if folder.name in {hotpotqa.name_of(split) for split in hotpotqa.SPLITS} else ""


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""
