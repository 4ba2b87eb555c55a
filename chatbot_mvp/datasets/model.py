"""The loaded data set: documents, queries and relevance judgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

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
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    """query_id -> doc_id -> relevance grade; a grade above 0 is relevant."""
    sha256: str
    """SHA-256 of the files' contents, in a fixed order."""
    split: str = ""
    """Split of the judgements; "" if the data set has no splits."""

    @property
    def judged(self) -> tuple[Query, ...]:
        """The queries that have a judgement, a grade of 0 included."""
        return tuple(query for query in self.queries if query.query_id in self.qrels)

    @cached_property
    def language(self) -> str:
        """Language of the first 200 documents, "es" or "en"."""
        return detect_language("\n".join(document.text for document in self.documents[:200]))
