"""BM25 over Tantivy. Terms are made by ``text.Analyzer`` on both sides, so no input can be read as query syntax."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tantivy

from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

INDEX_VERSION = 3
"""Part of every index's cache key: raise it whenever the layout of the index changes."""

_HEAP_BYTES = 64_000_000
_COMPLETE = "complete"


class LexicalIndex:
    """An inverted index of chunks, in memory or in a folder. Rows are the chunks' positions at build time.

    BM25 as Tantivy computes it (Robertson & Zaragoza 2009; k1 = 1.2, b = 0.75).
    """

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
        """Index ``chunks``; with a ``folder``, write it there so that ``open`` finds it the next time."""
        if folder is not None:
            # A folder without the mark is what a killed build left.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        index = tantivy.Index(_schema(), path=str(folder) if folder else None)
        # One thread, one order: two builds of the same chunks are the same index.
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
        """The index in ``folder``, or None if there is no complete one."""
        if not cls.is_complete(folder):
            return None
        try:
            return cls(tantivy.Index.open(str(folder)), analyzer)
        except ValueError:  # damaged, or of another version of the library: build it anew
            return None

    @staticmethod
    def is_complete(folder: Path) -> bool:
        """Whether a build in ``folder`` came to its end."""
        return (folder / _COMPLETE).is_file()

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """(row, BM25 score) of the best chunks, ties by row; empty when the query has no term."""
        should = tantivy.Occur.Should
        terms = dict.fromkeys(self.analyzer.terms(query))
        clauses = [(should, tantivy.Query.term_query(self._schema, "terms", term)) for term in terms]
        if not clauses or not self.count:
            return []
        # Addresses grow with the row, and equal scores come in the order of their addresses: a cut through a tie is
        # the same each time.
        result: Any = self._searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False)
        rows = self._searcher.fast_field_values("row", [address for _, address in result.hits])
        hits = [(int(row or 0), float(score)) for row, (score, _) in zip(rows, result.hits, strict=True)]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def document_frequency(self, term: str) -> int:
        """In how many chunks a term occurs."""
        return int(self._searcher.doc_freq("terms", term))


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("row", stored=False, indexed=False, fast=True)
    return builder.build()
