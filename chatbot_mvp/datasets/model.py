"""The loaded data set: documents, queries and relevance judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.datasets.table import DocumentTable
from chatbot_mvp.text import detect_language
from chatbot_mvp.types import Document


@dataclass(frozen=True, slots=True)
class Query:
    """A benchmark question."""

    query_id: str
    text: str
    answer: str = ""
    answer_type: str = ""
    """"label" (yes/no), "extractive", or "" if the data set does not say."""
    question_type: str = ""
    level: str = ""


@dataclass(frozen=True)
class Dataset:
    """A checked data set: every qrel names a known query and a known document."""

    name: str
    documents: Sequence[Document]
    """A ``DocumentTable`` if it was loaded from files."""
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    """query_id -> doc_id -> relevance grade; a grade above 0 is relevant."""
    sha256: str
    """SHA-256 of the files' contents, in a fixed order."""
    split: str = ""
    """Split of the judgements; "" if the data set has no splits."""

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Document id -> its position in ``documents``."""
        if isinstance(self.documents, DocumentTable):
            return self.documents.rows
        return {document.doc_id: row for row, document in enumerate(self.documents)}

    @property
    def in_memory(self) -> bool:
        """Whether the documents are few enough to be objects in memory."""
        return not isinstance(self.documents, DocumentTable) or self.documents.in_memory

    @cached_property
    def chars(self) -> int:
        """Number of characters of all texts."""
        if isinstance(self.documents, DocumentTable):
            return self.documents.chars
        return sum(len(document.text) for document in self.documents)

    def document(self, doc_id: str) -> Document | None:
        """Return the document of an id; None if there is none."""
        row = self.rows.get(doc_id)
        return None if row is None else self.documents[row]

    @property
    def judged(self) -> tuple[Query, ...]:
        """The queries that have a judgement, a grade of 0 included."""
        return tuple(query for query in self.queries if query.query_id in self.qrels)

    @cached_property
    def language(self) -> str:
        """Language of the first 200 documents, "es" or "en"."""
        return detect_language("\n".join(document.text for document in self.documents[:200]))
