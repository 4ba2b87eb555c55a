"""What goes with a document: the vectors and tokens of its texts, and the rows of versions that nobody searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.random_vectors import RandomTokens, RandomVectors
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index, tokens_cache_path, vector_cache_path
from chatbot_mvp.retrieval.indexes.dense_side import kb_texts, passages_read
from chatbot_mvp.retrieval.indexes.keeping import forget_texts, passages_in
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Chunk, Document, last

SHARED = "La bomba gira despacio. El taller cierra a las seis."
STAYS = f"# Uno\n\n{SHARED}\n\nLa llave abre el armario."
GOES = f"# Dos\n\n{SHARED}\n\nEl sueldo de Ana Ruiz sube. Nadie más lo sabe."


def chunks(*documents: str) -> list[Chunk]:
    return chunk_document(Document("kb", "Manual", "\n\n".join(documents)))


def built(folder: Path, embedder: type[RandomVectors], *documents: str) -> CorpusIndex:
    return last(growing_index(chunks(*documents), "es", folder, embedder))


def test_the_vectors_of_a_documents_texts_are_forgotten_but_not_those_that_others_have(tmp_path: Path) -> None:
    before, after = built(tmp_path, RandomVectors, STAYS, GOES), built(tmp_path, RandomVectors, STAYS)
    assert before.kb is not None and after.kb is not None
    forget_texts(passages_in(chunks(GOES)), after.kb.matcher.passages, tmp_path, RandomVectors())
    cache = VectorCache(vector_cache_path(tmp_path))
    gone = cache.missing(RandomVectors(), kb_texts(before.kb), "passage")
    assert "El sueldo de Ana Ruiz sube." in gone
    assert all(text.startswith("Dos") or "Ana" in text or "Nadie" in text for text in gone)
    assert not cache.missing(RandomVectors(), kb_texts(after.kb), "passage")


def test_tokens_of_a_documents_paragraphs_are_forgotten(tmp_path: Path) -> None:
    before, after = built(tmp_path, RandomTokens, STAYS, GOES), built(tmp_path, RandomTokens, STAYS)
    assert before.kb is not None and after.kb is not None
    tables = [
        SqliteCache[bytes](tokens_cache_path(tmp_path), table, f"(key BLOB PRIMARY KEY, {value} BLOB NOT NULL)")
        for table, value in (("tokens", "tokens"), ("sentences", "sums"))
    ]
    assert [len(table) for table in tables] == [len(passages_read(before.kb))] * 2
    forget_texts(before.kb.matcher.passages, after.kb.matcher.passages, tmp_path, RandomTokens())
    assert [len(table) for table in tables] == [len(passages_read(after.kb))] * 2


@pytest.mark.parametrize("embedder", [RandomTokens, RandomVectors])
def test_where_nothing_is_cached_nothing_is_forgotten(tmp_path: Path, embedder: type[RandomVectors]) -> None:
    forget_texts(passages_in(chunks(GOES)), [], tmp_path, embedder())
    assert not vector_cache_path(tmp_path).exists()
