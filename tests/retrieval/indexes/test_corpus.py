"""Building the indexes of a corpus: what is reported, what is found again, and what is deleted."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.retrieval.indexes.corpus import (
    CorpusIndex,
    forget_index,
    growing_index,
    is_indexed,
    vector_cache_path,
)
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.dense_side import kb_texts
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.indexes.versions import forget_other_indexes
from chatbot_mvp.types import Chunk, Document, Progress, ignore_progress, last
from tests.fakes import FakeEmbedder, chunks_of
from tests.retrieval import changes

KB = chunk_document(
    Document("kb", "kb", "# Taller\n\nEl torno pesa. Abre a las 8.\n\nLa sierra corta.\n\n# Dietas\n\nSon 48.")
)


def passages(count: int) -> list[Chunk]:
    return [Chunk(f"d{n}", f"d{n}", f"T{n}", f"Pieza {n}.", 0, 8) for n in range(count)]


def test_progress_of_indexing_and_linking_rises_over_the_whole_corpus(tmp_path: Path) -> None:
    seen: list[Progress] = []
    last(growing_index(passages(2_001), "es", tmp_path, None, seen.append, with_links=True))
    assert [(p.done, p.total) for p in seen if p.phase == "index"] == [(0, 2_001), (2_000, 2_001), (2_001, 2_001)]
    linked = [p for p in seen if p.phase == "link"]
    done = [p.done for p in linked]
    assert done[:4] == [0, 0, 1_000, 2_000]
    assert done == sorted(done)
    assert done[-1] == 4_002
    assert {p.total for p in linked} == {4_002}


def test_an_index_that_is_there_is_opened_and_another_language_has_its_own(tmp_path: Path) -> None:
    chunks = passages(3)
    assert not is_indexed(chunks, "es", tmp_path)
    last(growing_index(chunks, "es", tmp_path, None))
    assert is_indexed(chunks, "es", tmp_path)
    assert not is_indexed(chunks, "en", tmp_path)
    assert not is_indexed(chunks[:2], "es", tmp_path)
    seen: list[Progress] = []
    last(growing_index(chunks, "es", tmp_path, None, seen.append))
    assert seen == []


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_is_afterwards_as_it_was(tmp_path: Path, on: bool) -> None:
    was_on = gc.isenabled()
    during: list[bool] = []
    try:
        gc.enable() if on else gc.disable()
        last(growing_index(passages(1), "es", tmp_path, None, lambda _: during.append(gc.isenabled())))
        assert gc.isenabled() == on
        assert during and not any(during)
    finally:
        gc.enable() if was_on else gc.disable()


def test_the_length_of_the_sources_is_measured_to_the_end_of_the_last_chunk_of_each(tmp_path: Path) -> None:
    spans = [("a", 0, 10), ("a", 5, 30), ("b", 0, 7), ("a", 2, 9)]
    chunks = [Chunk(f"c{n}", doc, "S", "x" * (end - start), start, end) for n, (doc, start, end) in enumerate(spans)]
    index = last(growing_index(chunks, "es", tmp_path, None))
    assert index.source_chars == 37


def dense_of(index: CorpusIndex) -> list[list[tuple[int, float]]]:
    assert index.dense is not None
    vector = FakeEmbedder().embed(["torno"], "query")
    return index.dense.vectors.search(vector, 10)


def test_a_knowledge_base_has_the_first_window_of_each_paragraph_before_all_windows(tmp_path: Path) -> None:
    seen: list[Progress] = []
    words, first, whole = growing_index(KB, "es", tmp_path, FakeEmbedder, seen.append)
    assert words.dense is None
    assert first.dense is not None and whole.dense is not None and whole.kb is not None
    texts = kb_texts(whole.kb)
    firsts = [whole.kb.matcher.window_text(row) for row in whole.kb.matcher.first_window]
    assert first.dense.share == pytest.approx(len(set(firsts)) / len(set(texts)))
    assert whole.dense.share == 1.0
    assert first.dense.windows is first.dense.sentences is not None
    embedded = [p for p in seen if p.phase == "embed_corpus" and p.total == len(set(texts))]
    assert [p.done for p in embedded] == sorted(p.done for p in embedded)
    assert embedded[-1].done == len(set(texts))
    again = list(growing_index(KB, "es", tmp_path, FakeEmbedder))
    assert len(again) == 2, "the vectors are in the cache"
    assert dense_of(again[-1]) == dense_of(whole)


def test_vectors_of_windows_sentences_and_chunks_are_those_of_their_texts(tmp_path: Path) -> None:
    whole = last(growing_index(KB, "es", tmp_path, FakeEmbedder))
    kb, side, embedder = whole.kb, whole.dense, FakeEmbedder()
    assert kb is not None and side is not None and side.windows is not None and side.sentences is not None
    query = embedder.vector("el torno corta")
    rows = range(len(kb.matcher.window_passage))
    windows = np.array([embedder.vector(text) for text in map(kb.matcher.window_text, rows)])
    sentences = np.array([embedder.vector(text) for text in map(kb.matcher.sentence_text, rows)])
    np.testing.assert_allclose(side.windows.cosines(query), windows @ query, atol=2e-6)
    np.testing.assert_allclose(side.sentences.cosines(query), sentences @ query, atol=2e-6)
    for position, chunk in enumerate(kb.chunks):
        mean = windows[np.isin(kb.matcher.window_passage, kb.paragraphs.of(position))].sum(axis=0)
        mean /= np.linalg.norm(mean)
        [cosine] = side.vectors.similarities(query, np.array([position]))
        assert cosine == pytest.approx(float(mean @ query), abs=2e-6), chunk.chunk_id


def test_a_forgotten_knowledge_base_leaves_neither_files_nor_vectors_and_others_keep_theirs(tmp_path: Path) -> None:
    other = chunk_document(Document("other", "other", "# Otro\n\nNada que ver."))
    for chunks, owner in ((KB, "kb-1"), (other, "kb-2")):
        last(growing_index(chunks, "es", tmp_path, FakeEmbedder, store=VectorStoreChoice("exact", owner)))
    index = last(growing_index(KB, "es", tmp_path, None, store=VectorStoreChoice("exact", "kb-1")))
    kept = last(growing_index(other, "es", tmp_path, None, store=VectorStoreChoice("exact", "kb-2")))
    assert index.kb is not None and kept.kb is not None
    model, cache = FakeEmbedder(), VectorCache(vector_cache_path(tmp_path))
    assert cache.count(model, kb_texts(index.kb), "passage") == len(set(kb_texts(index.kb)))
    forget_index(KB, "es", tmp_path, model, "kb-1")
    assert cache.count(model, kb_texts(index.kb), "passage") == 0
    assert cache.count(model, kb_texts(kept.kb), "passage") == len(set(kb_texts(kept.kb)))
    assert not (tmp_path / "indexes" / "kb-1").exists()


def test_a_forgotten_knowledge_base_of_short_documents_leaves_no_vector(tmp_path: Path) -> None:
    documents = [(name, f"{text} Mide tres metros. Pesa {name}.") for name, text in changes.short_documents(1, 12)]
    chunks = changes.chunks_of(documents)
    index = last(growing_index(chunks, "es", tmp_path, FakeEmbedder, store=VectorStoreChoice("exact", "kb-1")))
    assert index.kb is not None
    assert index.kb.is_corpus
    forget_index(chunks, "es", tmp_path, FakeEmbedder(), "kb-1")
    with closing(sqlite3.connect(vector_cache_path(tmp_path))) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (0,)


def test_the_links_of_other_versions_are_dropped_and_those_that_are_kept_are_opened_again(tmp_path: Path) -> None:
    def version(seed: int, owner: str = "kb-1") -> CorpusIndex:
        chunks = changes.chunks_of(changes.short_documents(seed, 12))
        choice = VectorStoreChoice("exact", owner)
        return last(growing_index(chunks, "es", tmp_path, None, with_links=True, store=choice))

    versions = [version(seed) for seed in (1, 2, 3)]
    other = version(1, "kb-2")
    folders = [index.folder for index in (*versions, other)]
    assert all(folder is not None and folder.is_dir() for folder in folders)
    forget_other_indexes(tmp_path, "kb-1", folders[1:2])
    assert [folder is not None and folder.exists() for folder in folders] == [False, True, False, True]
    assert version(2).graph is not None
    forget_other_indexes(tmp_path, "kb-1", [])
    assert [path.name for path in (tmp_path / "indexes" / "kb-1").iterdir()] == []
    forget_other_indexes(tmp_path, "", [])
    assert folders[3] is not None and folders[3].exists()


def test_a_chosen_server_is_used_and_without_one_or_without_vectors_none_is(tmp_path: Path) -> None:
    matrix = FakeEmbedder().embed(["a"], "passage")
    chosen, of_corpus = (VectorStoreChoice(kind, "", tmp_path, "no port") for kind in ("chroma", "auto"))
    with pytest.raises(InvalidSetting):
        chosen.make(matrix, "m", ignore_progress)
    assert isinstance(of_corpus.make(matrix, "m", ignore_progress), ExactVectors)
    assert isinstance(chosen.make(matrix[:0], "m", ignore_progress), ExactVectors)


def test_terms_are_looked_for_in_headings_as_well(tmp_path: Path) -> None:
    chunks = [Chunk("d0", "d0", "Torno", "Pesa mucho.", 0, 11), *chunks_of("nada")]
    for with_links in (False, True):
        index = last(growing_index(chunks, "es", tmp_path, None, with_links=with_links))
        terms = index.analyzer.terms("torno pesa sierra")
        assert index.terms_present(terms, chunks) == [set(terms[:2]), set()]
        assert index.idf(terms[2]) > index.idf(terms[0]) > 0
