"""Versions of a knowledge base in one collection of ChromaDB: each finds its own rows, whatever comes and goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.retrieval.indexes import chroma, chroma_rows
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors
from chatbot_mvp.retrieval.indexes.chroma_connection import ChromaClient, chroma_client
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.keeping import keep_vectors
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.types import Progress
from tests.raising import raises
from tests.retrieval.indexes.test_chroma import clustered

pytestmark = pytest.mark.xdist_group("chroma")


def opened(client: ChromaClient, matrix: Vectors, keep: bool = True) -> ChromaVectors:
    return ChromaVectors.build(client, matrix, "kb", "v", keep=keep)


def stored(client: ChromaClient) -> set[str]:
    return set(client.api.get_collection("kb.v", embedding_function=None).get(include=[])["ids"])


def exact(matrix: Vectors, queries: Vectors, limit: int = 20) -> list[list[tuple[int, float]]]:
    return ExactVectors(matrix).search(queries, limit)


def rows(hits: list[list[tuple[int, float]]]) -> list[list[int]]:
    return [[row for row, _ in one] for one in hits]


def test_a_change_adds_only_new_rows_and_both_versions_answer_with_their_own(tmp_path: Path) -> None:
    client, matrix, queries = chroma_client(tmp_path), clustered(31, 420), clustered(32, 40)
    old = opened(client, matrix[:400])
    seen: list[Progress] = []
    following = np.concatenate([matrix[400:], matrix[30:400][::-1]])
    new = ChromaVectors.build(client, following, "kb", "v", seen.append)
    assert seen[0].done == seen[0].done_before == 370 and seen[-1].done == seen[-1].total == 390
    for store, own in ((old, matrix[:400]), (new, following)):
        assert rows(store.search(queries, 20)) == rows(exact(own, queries))
    once = ChromaVectors.build(client, following, "kb", "once")
    assert new.search(queries, 20) == once.search(queries, 20), "rows, scores and ties"


def test_equal_rows_are_one_row_and_ties_are_broken_by_their_places(tmp_path: Path) -> None:
    client, matrix = chroma_client(tmp_path), clustered(33, 30)
    doubled = np.concatenate([matrix, matrix[::-1], matrix[:1]])
    store = opened(client, doubled)
    assert len(stored(client)) == 30
    assert rows(store.search(matrix[:1], 3)) == [[0, 59, 60]]
    assert rows(store.search(matrix[:5], 61)) == rows(exact(doubled, matrix[:5], 61))


def test_rows_of_other_versions_never_push_out_own_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma, "_LARGEST_RESULT", 64)
    client, own = chroma_client(tmp_path), clustered(34, 300)
    near = own[:1] + 0.01 * clustered(35, 200)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    opened(client, near)
    store = opened(client, own)
    assert rows(store.search(own[:2], 20)) == rows(exact(own, own[:2]))


def test_a_stopped_update_leaves_the_old_version_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_rows, "ADD_ROWS", 20)
    client, matrix, queries = chroma_client(tmp_path), clustered(36, 200), clustered(37, 10)
    old = opened(client, matrix[:120])
    before = old.search(queries, 20)

    def stop(progress: Progress) -> None:
        if progress.done >= 80:
            raise RunStopped(run_id="r")

    with pytest.raises(RunStopped):
        ChromaVectors.build(client, matrix[60:], "kb", "v", stop)
    assert len(stored(client)) == 140
    assert old.search(queries, 20) == before
    assert rows(opened(client, matrix[60:]).search(queries, 20)) == rows(exact(matrix[60:], queries))
    assert old.search(queries, 20) == before


@pytest.mark.parametrize("keep", [True, False])
def test_rows_that_no_kept_version_has_are_gone_and_who_still_searches_them_is_told_or_brings_them_back(
    tmp_path: Path, keep: bool
) -> None:
    client, matrix, queries = chroma_client(tmp_path), clustered(38, 700), clustered(39, 10)
    old, new = opened(client, matrix[:600], keep), opened(client, matrix[100:], keep)
    before = new.search(queries, 20)
    ChromaVectors.build(client, matrix[:5], "kb", "another-model")
    ChromaVectors.build(client, matrix[:5], "kb-2", "v")
    assert keep_vectors(client, "kb", [new]) == 105
    assert stored(client) == set(new.ids.distinct)
    assert sorted(chroma_rows.names(client.api)) == ["kb-2.v", "kb.v"]
    assert new.search(queries, 20) == before
    assert keep_vectors(client, "kb", [new]) == 0
    if keep:
        assert rows(old.search(queries, 20)) == rows(exact(matrix[:600], queries))
        assert rows(opened(client, matrix[:600]).search(queries, 20)) == rows(exact(matrix[:600], queries))
    else:
        with raises("vector_store_unavailable", match="has 500 of 600 rows"):
            old.search(queries, 20)


OTHER = """
import sys, numpy as np
from pathlib import Path
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client
matrix, queries = np.load(sys.argv[2]), np.load(sys.argv[3])
store = ChromaVectors.build(chroma_client(Path(sys.argv[1])), matrix, "kb", "v")
for _ in range(2):
    print([[row for row, _ in hits] for hits in store.search(queries, 20)], flush=True)
    input()
"""


@pytest.mark.slow
def test_another_process_finds_its_version_while_this_one_changes_and_deletes(tmp_path: Path) -> None:
    matrix, queries = clustered(40, 700), clustered(41, 10)
    np.save(tmp_path / "m.npy", matrix[:600])
    np.save(tmp_path / "q.npy", queries)
    client = chroma_client(tmp_path / "chroma")
    new = opened(client, matrix[100:])
    expected = f"{rows(exact(matrix[:600], queries))}\n"
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER, tmp_path / "chroma", tmp_path / "m.npy", tmp_path / "q.npy"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT_ROOT,
    )
    assert other.stdin is not None and other.stdout is not None
    assert other.stdout.readline() == expected
    assert keep_vectors(client, "kb", [new]) == 100
    other.stdin.write("\n")
    other.stdin.flush()
    assert other.stdout.readline() == expected
    assert rows(new.search(queries, 20)) == rows(exact(matrix[100:], queries))
    other.communicate("\n", timeout=20)
    assert other.returncode == 0


@pytest.mark.slow
def test_recall_at_20_after_100_changes_is_that_of_one_build_and_the_graph_is_built_anew(tmp_path: Path) -> None:
    client, queries = chroma_client(tmp_path), clustered(42, 300)
    matrix = clustered(43, 2_000)
    rng, most = np.random.default_rng(1), 0
    for number in range(100):
        gone = rng.choice(len(matrix), 30, replace=False)
        matrix = np.concatenate([np.delete(matrix, gone, axis=0), clustered(100 + number, 30)])
        store = opened(client, matrix)
        keep_vectors(client, "kb", [store])
        seen = chroma_rows.seen(client.api, "kb.v")
        assert seen is not None
        most = max(most, seen.deleted)
    assert 1_500 < most <= 2_000 > seen.deleted, "built anew once"
    found, wanted = store.search(queries, 20), exact(matrix, queries)
    shared = [len({*one} & {*other}) for one, other in zip(rows(found), rows(wanted), strict=True)]
    assert sum(shared) / (20 * len(queries)) >= 0.99
    once = ChromaVectors.build(client, matrix, "kb", "once")
    assert found == once.search(queries, 20)


def test_a_collection_is_replaced_while_it_is_searched(tmp_path: Path) -> None:
    client, matrix, queries = chroma_client(tmp_path), clustered(44, 300), clustered(45, 10)
    store = opened(client, matrix, keep=False)
    before = store.search(queries, 20)
    seen = chroma_rows.seen(client.api, "kb.v")
    assert seen is not None
    chroma_rows.rebuilt(client.api, "kb.v", "kb", seen)
    assert store.search(queries, 20) == before
    some = np.array([3, 250])
    expected = ExactVectors(matrix).similarities(matrix[3], some)
    np.testing.assert_array_equal(store.similarities(matrix[3], some), expected)
