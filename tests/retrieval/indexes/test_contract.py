"""The contract of the indexes, kept by every place where they can be: files, a ChromaDB server, an added engine.

An added engine imports these tests, and has a fixture ``backend`` of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from chatbot_mvp.errors import RunStopped
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ignore_progress
from tests.fakes import chunks_of
from tests.retrieval.indexes.backends import Backend, ChromaServer, Local
from tests.retrieval.indexes.test_chroma import clustered, same_hits

pytestmark = pytest.mark.xdist_group("indexes")  # one worker, because starting a server takes seconds

WORDS = [f"word{number}" for number in range(60)]
LIMIT = 20


def texts(seed: int, count: int) -> list[Chunk]:
    """Chunks of 0 to 80 words; few words are frequent and many rare, as in texts."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return chunks_of(*(" ".join(rng.choices(WORDS, weights, k=rng.randrange(80))) for _ in range(count)))


QUERIES = [
    "word0",
    "word3 word17",
    "word59 word2 word2",
    "word1 word5 word8 word40 word41",
    "unknown",
    "unknown word7",
    "",
]


@pytest.fixture(scope="module", params=["local", pytest.param("chroma", marks=pytest.mark.slow)])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    kind = {"local": Local, "chroma": ChromaServer}[request.param]
    made = kind(tmp_path_factory.mktemp(request.param))
    yield made
    made.stop()


def test_bm25_gives_the_rows_of_tantivy_in_its_order_with_its_scores(backend: Backend) -> None:
    chunks = texts(1, 400)
    tantivy, there = LexicalIndex.build(chunks, Analyzer("en")), backend.terms(chunks, "ids")
    for query in QUERIES:
        expected, found = tantivy.search(query, LIMIT), there.search(query, LIMIT)
        assert [row for row, _ in found] == [row for row, _ in expected], query
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-5)


def test_document_frequencies_are_those_of_tantivy(backend: Backend) -> None:
    chunks = texts(1, 400)
    tantivy, there = LexicalIndex.build(chunks, Analyzer("en")), backend.terms(chunks, "ids")
    for term in [*WORDS[:5], WORDS[-1], "unknown", ""]:
        assert there.document_frequency(term) == tantivy.document_frequency(term), term


def test_recall_at_20_against_exact_search_is_at_least_98_percent(backend: Backend) -> None:
    matrix, queries = clustered(1, 1_500), clustered(2, 100)
    exact, found = ExactVectors(matrix).search(queries, LIMIT), backend.vectors(matrix, "r").search(queries, LIMIT)
    shared = [len({row for row, _ in one} & {row for row, _ in other}) for one, other in zip(exact, found, strict=True)]
    assert sum(shared) / (LIMIT * len(queries)) >= 0.98


def test_a_batch_of_vectors_gives_what_single_searches_give(backend: Backend) -> None:
    store, queries = backend.vectors(clustered(3, 600), "batch"), clustered(4, 8)
    singles = [store.search(queries[number : number + 1], LIMIT)[0] for number in range(len(queries))]
    assert same_hits(store.search(queries, LIMIT), singles)
    assert store.search(queries[:0], LIMIT) == []


def test_similarities_of_named_rows_are_exact(backend: Backend) -> None:
    matrix = clustered(3, 600)
    rows = np.array([5, 0, 599])
    expected = ExactVectors(matrix).similarities(matrix[7], rows)
    np.testing.assert_allclose(backend.vectors(matrix, "batch").similarities(matrix[7], rows), expected)


def test_a_second_build_of_equal_content_doubles_nothing(backend: Backend) -> None:
    chunks, matrix = texts(5, 90), clustered(5, 90)
    first = backend.terms(chunks, "twice").search("word1", 90), backend.vectors(matrix, "twice").search(matrix[:3], 90)
    again = backend.terms(chunks, "twice").search("word1", 90), backend.vectors(matrix, "twice").search(matrix[:3], 90)
    assert first[0] == again[0]
    assert same_hits(first[1], again[1])
    assert all(sorted(row for row, _ in hits) == list(range(90)) for hits in again[1])


def test_changed_content_of_an_owner_is_found_and_its_former_content_is_not(backend: Backend) -> None:
    before, after = texts(6, 40), texts(7, 55)
    backend.terms(before, "changed")
    backend.vectors(clustered(6, 40), "changed")
    matrix = clustered(7, 55)
    expected = LexicalIndex.build(after, Analyzer("en")).search("word0 word4", 60)
    assert [row for row, _ in backend.terms(after, "changed").search("word0 word4", 60)] == [r for r, _ in expected]
    hits = backend.vectors(matrix, "changed").search(matrix[:4], 60)
    assert same_hits(hits, ExactVectors(matrix).search(matrix[:4], 60))


def test_the_former_version_answers_until_the_new_one_is_kept_alone(backend: Backend) -> None:
    before, after, matrix = texts(14, 60), texts(15, 50), clustered(14, 70)
    other = backend.vectors(matrix[:9], "beside")
    old = backend.terms(before, "moves"), backend.vectors(matrix[:60], "moves")
    of_old = old[0].search("word0", LIMIT), old[1].search(matrix[:3], LIMIT)
    new = backend.terms(after, "moves"), backend.vectors(matrix[20:], "moves")
    assert old[0].search("word0", LIMIT) == of_old[0]
    assert same_hits(old[1].search(matrix[:3], LIMIT), of_old[1])
    of_new = new[0].search("word0", LIMIT), new[1].search(matrix[30:33], LIMIT)
    assert same_hits(of_new[1], ExactVectors(matrix[20:]).search(matrix[30:33], LIMIT))
    backend.keep("moves", *new)
    assert new[0].search("word0", LIMIT) == of_new[0]
    assert same_hits(new[1].search(matrix[30:33], LIMIT), of_new[1])
    assert [hits[0][0] for hits in other.search(matrix[:9], 1)] == list(range(9))
    again = backend.vectors(matrix[:60], "moves")
    assert same_hits(again.search(matrix[:3], LIMIT), of_old[1])


@pytest.mark.slow  # 2,100 rows are needed for a second batch
def test_a_build_that_was_stopped_half_way_is_completed_by_the_next_one(backend: Backend) -> None:
    chunks, matrix = texts(8, 2_100), clustered(8, 2_100)

    def stop(progress: Progress) -> None:
        if progress.done > 500:
            raise RunStopped(run_id="r")

    with pytest.raises(RunStopped):
        backend.terms(chunks, "half", stop)
    with pytest.raises(RunStopped):
        backend.vectors(matrix, "half", stop)
    expected = LexicalIndex.build(chunks, Analyzer("en")).search("word9", LIMIT)
    assert [row for row, _ in backend.terms(chunks, "half").search("word9", LIMIT)] == [row for row, _ in expected]
    assert [hits[0][0] for hits in backend.vectors(matrix, "half").search(matrix[[0, 2_099]], 3)] == [0, 2_099]


def test_a_search_finds_only_rows_of_its_own_knowledge_base(backend: Backend) -> None:
    one, other = texts(9, 30), texts(9, 30)[:12]
    matrix = clustered(9, 30)
    backend.terms(one, "kb-one"), backend.vectors(matrix, "kb-one")
    mine, vectors = backend.terms(other, "kb-two"), backend.vectors(matrix[:12], "kb-two")
    expected = LexicalIndex.build(other, Analyzer("en")).search("word0", 30)
    assert [row for row, _ in mine.search("word0", 30)] == [row for row, _ in expected]
    [hits] = vectors.search(matrix[20:21], 30)
    assert sorted(row for row, _ in hits) == list(range(12))


def test_deleting_a_knowledge_base_leaves_the_others_and_it_can_be_built_again(backend: Backend) -> None:
    chunks, matrix = texts(10, 30), clustered(10, 30)
    stays = backend.terms(chunks, "stays"), backend.vectors(matrix, "stays")
    backend.terms(chunks, "goes"), backend.vectors(matrix, "goes")
    expected = stays[0].search("word0", LIMIT), stays[1].search(matrix[:2], LIMIT)
    backend.delete(chunks, "goes")
    assert (stays[0].search("word0", LIMIT), stays[1].search(matrix[:2], LIMIT)) == expected
    assert backend.terms(chunks, "goes").search("word0", LIMIT) == expected[0]
    assert same_hits(backend.vectors(matrix, "goes").search(matrix[:2], LIMIT), expected[1])


def test_chunks_without_any_word_are_never_found_and_do_no_harm(backend: Backend) -> None:
    empty = chunks_of("", "...", "¿?")
    assert backend.terms(empty, "empty").search("word0", LIMIT) == []
    assert backend.terms(empty, "empty").document_frequency("word0") == 0
    mixed = chunks_of("", "word0", "...")
    assert [row for row, _ in backend.terms(mixed, "mixed").search("word0", LIMIT)] == [1]


@pytest.mark.slow  # starts the server again
def test_what_was_written_is_there_after_a_restart_of_the_server(backend: Backend) -> None:
    chunks, matrix = texts(11, 60), clustered(11, 60)
    before = backend.terms(chunks, "kept").search("word1", LIMIT)
    vectors_before = backend.vectors(matrix, "kept").search(matrix[:3], LIMIT)
    backend.restart()

    def refuse(progress: Progress) -> None:
        raise AssertionError(f"built again: {progress}")

    # On this machine the words of a knowledge base are in memory: each version would write files of its own.
    told = ignore_progress if isinstance(backend, Local) else refuse
    assert backend.terms(chunks, "kept", told).search("word1", LIMIT) == before
    assert same_hits(backend.vectors(matrix, "kept", refuse).search(matrix[:3], LIMIT), vectors_before)
