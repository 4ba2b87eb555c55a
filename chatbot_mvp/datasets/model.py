"""The loaded data set: documents, queries and relevance judgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.text import detect_language, fold
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
    def queries_that_are_documents(self) -> frozenset[str]:
        """Ids of the queries that are documents of the corpus, as in ArguAna and Quora. Each would find itself first.

        They are known by equal ids. Ids such as "1" may agree by chance, so it is required that at least half of these
        queries have the text of their document, and that no such document is relevant to its own query.
        """
        texts = {query.query_id: _squeezed(query.text) for query in self.queries}
        own = {each.doc_id: each for each in self.documents if each.doc_id in texts}
        same = sum(bool(texts[key]) and texts[key] in _squeezed(f"{d.title} {d.text}") for key, d in own.items())
        by_chance = 2 * same < len(own) or any(self.qrels.get(key, {}).get(key, 0) > 0 for key in own)
        return frozenset() if by_chance else frozenset(own)

    @cached_property
    def language(self) -> str:
        """Language of the first 200 documents, "es" or "en"."""
        return detect_language("\n".join(document.text for document in self.documents[:200]))


def _squeezed(text: str) -> str:
    return " ".join(fold(text).split())
