"""The loaded data set: documents, queries and relevance judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.datasets.table import DocumentTable
from chatbot_mvp.text import detect_language, fold
from chatbot_mvp.types import Document, PastTurn


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
    history: tuple[PastTurn, ...] = ()
    """The conversation before the question, oldest turn first."""


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
    left_out: int = 0
    """Judgements of documents that the corpus lacks."""

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
    def queries_that_are_documents(self) -> frozenset[str]:
        """Ids of the queries that are documents of the corpus, as in ArguAna and Quora. Each would find itself first.

        They are known by equal ids. Ids such as "1" may agree by chance, so it is required that at least half of these
        queries have the text of their document, and that no such document is relevant to its own query.
        """
        texts = {query.query_id: _squeezed(query.text) for query in self.queries}
        own = {key: found for key in texts if (found := self.document(key)) is not None}
        same = sum(bool(texts[key]) and texts[key] in _squeezed(f"{d.title} {d.text}") for key, d in own.items())
        by_chance = 2 * same < len(own) or any(self.qrels.get(key, {}).get(key, 0) > 0 for key in own)
        return frozenset() if by_chance else frozenset(own)

    @cached_property
    def language(self) -> str:
        """Language of the first 200 documents, "es" or "en"."""
        return detect_language("\n".join(document.text for document in self.documents[:200]))


def _squeezed(text: str) -> str:
    return " ".join(fold(text).split())
