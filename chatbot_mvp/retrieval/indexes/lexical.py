"""BM25 search with Tantivy. ``text.Analyzer`` makes all terms, so that no input is parsed as query syntax."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chatbot_mvp.storage.files import make_new_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

if TYPE_CHECKING:
    import tantivy  # imported where it is used: without it, ``words.engine`` is another one

INDEX_VERSION = 3
"""Part of every index's cache key. Raise it with every change of the index layout."""

_HEAP_BYTES = 64_000_000
_COMPLETE = "complete"


class LexicalSearch(Protocol):
    """An inverted index of chunks. Row numbers are the positions of the chunks when it was built."""

    analyzer: Analyzer
    """Makes the terms of the chunks and of the queries."""

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Return (row, BM25 score) of the best ``limit`` chunks, ties by row; empty if the query has no terms."""

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks in which ``term`` occurs."""


class LexicalIndex:
    """A ``LexicalSearch`` by Tantivy in memory or in a folder: BM25 (Robertson & Zaragoza 2009), k1 = 1.2, b = 0.75."""

    def __init__(self, index: tantivy.Index, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._schema = index.schema
        index.reload()
        self._searcher = index.searcher()
        self.count = self._searcher.num_docs

    @classmethod
    def build(
        cls,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        folder: Path | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> LexicalIndex:
        """Index ``chunks``, in ``folder`` if given (``open`` loads it later), else in memory."""
        import tantivy

        if folder is not None:
            # The folder may hold the remains of an interrupted build.
            shutil.rmtree(folder, ignore_errors=True)
            make_new_folder(folder)
        index = tantivy.Index(_schema(), path=str(folder) if folder else None)
        # One thread, so that two builds of the same chunks give identical indexes.
        writer = index.writer(_HEAP_BYTES, 1)
        for row, chunk in enumerate(chunks):
            document = tantivy.Document(terms=" ".join(analyzer.terms(chunk.index_text)))
            document.add_unsigned("row", row)
            writer.add_document(document)
            if row % 2_000 == 0:
                progress(Progress("index", row, len(chunks)))
        writer.commit()
        writer.wait_merging_threads()
        progress(Progress("index", len(chunks), len(chunks)))
        if folder is not None:
            (folder / _COMPLETE).touch()
        return cls(index, analyzer)

    @classmethod
    def open(cls, folder: Path, analyzer: Analyzer) -> LexicalIndex | None:
        """Load the index in ``folder``; None if there is no complete and readable one."""
        if not cls.is_complete(folder):
            return None
        import tantivy

        try:
            return cls(tantivy.Index.open(str(folder)), analyzer)
        except ValueError:  # damaged, or written by another version of Tantivy: the caller rebuilds it
            return None

    @staticmethod
    def is_complete(folder: Path) -> bool:
        """Return whether ``folder`` holds a completed build."""
        return (folder / _COMPLETE).is_file()

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        import tantivy

        should = tantivy.Occur.Should
        terms = dict.fromkeys(self.analyzer.terms(query))
        clauses = [(should, tantivy.Query.term_query(self._schema, "terms", term)) for term in terms]
        if not clauses or not self.count:
            return []
        # Tantivy orders equal scores by document address, which grows with the row, so a cut through a tie is
        # reproducible.
        result: Any = self._searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False)
        rows = self._searcher.fast_field_values("row", [address for _, address in result.hits])
        hits = [(int(row or 0), float(score)) for row, (score, _) in zip(rows, result.hits, strict=True)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def document_frequency(self, term: str) -> int:
        return int(self._searcher.doc_freq("terms", term))


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("row", stored=False, indexed=False, fast=True)
    return builder.build()
