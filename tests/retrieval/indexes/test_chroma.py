"""ChromaDB against exact search: in files, after a restart, behind a server, and gone with its knowledge base."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import InvalidSetting, KbNotFound, MissingPackage, RunStopped
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.indexes.chroma import (
    ChromaVectors,
    chroma_client,
    collection_name,
    delete_collections,
)
from chatbot_mvp.retrieval.indexes.chroma_rows import ADD_ROWS
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.types import Progress, ignore_progress
from tests.fakes import FakeEmbedder, fake_app
from tests.loopback import free_port
from tests.raising import raises
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("chroma")  # one worker, because starting it takes seconds


def clustered(seed: int, rows: int, dimensions: int = 96, clusters: int = 50) -> Vectors:
    """Unit vectors around seeded centres, as texts lie around their topics."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(clusters, dimensions))
    matrix = centres[rng.integers(0, clusters, rows)] + 0.8 * rng.normal(size=(rows, dimensions))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in chroma_client(folder).api.list_collections())


def same_hits(one: list[list[tuple[int, float]]], other: list[list[tuple[int, float]]]) -> bool:
    """The same rows in the same order; the last bits of a cosine depend on how it was summed up."""
    rows = [[row for row, _ in hits] for hits in one] == [[row for row, _ in hits] for hits in other]
    return rows and np.allclose([c for hits in one for _, c in hits], [c for hits in other for _, c in hits], atol=1e-5)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Vectors, ChromaVectors]:
    """6,000 vectors: more than one add, and more than the engine takes at once."""
    matrix = clustered(1, 6_000)
    client = chroma_client(tmp_path_factory.mktemp("large") / "chroma")
    return matrix, ChromaVectors.build(client, matrix, "kb", "large")


@pytest.mark.slow
def test_recall_at_20_against_exact_search_is_at_least_99_percent(large: tuple[Vectors, ChromaVectors]) -> None:
    matrix, store = large
    queries = clustered(2, 300)
    exact, found = ExactVectors(matrix).search(queries, 20), store.search(queries, 20)
    shared = [len({row for row, _ in one} & {row for row, _ in other}) for one, other in zip(exact, found, strict=True)]
    assert sum(shared) / (20 * len(queries)) >= 0.99


def test_scores_are_cosines_in_falling_order(large: tuple[Vectors, ChromaVectors]) -> None:
    matrix, store = large
    [hits] = store.search(matrix[42:43], 150)
    assert len(hits) == 150
    assert hits[0] == (42, pytest.approx(1.0, abs=1e-5))
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
    np.testing.assert_allclose([score for _, score in hits], [matrix[row] @ matrix[42] for row, _ in hits], atol=1e-5)


def test_similarities_of_named_rows_are_those_of_exact_search(large: tuple[Vectors, ChromaVectors]) -> None:
    matrix, store = large
    rows = np.array([5_999, 0, 42, 42])
    np.testing.assert_array_equal(
        store.similarities(matrix[7], rows), ExactVectors(matrix).similarities(matrix[7], rows)
    )


def test_many_queries_are_answered_like_each_one_alone(large: tuple[Vectors, ChromaVectors]) -> None:
    queries = clustered(3, 270)
    together = large[1].search(queries, 5)
    assert [together[at] for at in (0, 255, 256, 269)] == [
        large[1].search(queries[at : at + 1], 5)[0] for at in (0, 255, 256, 269)
    ]


@pytest.mark.slow
def test_two_builds_of_the_same_vectors_rank_alike(tmp_path: Path) -> None:
    matrix, queries = clustered(4, 2_500), clustered(5, 100)
    one, other = (ChromaVectors.build(chroma_client(tmp_path), matrix, "kb", digest) for digest in ("one", "two"))
    assert one.search(queries, 20) == other.search(queries, 20)


def test_equal_vectors_are_ordered_by_row_also_where_the_list_is_cut(tmp_path: Path) -> None:
    matrix = np.repeat(clustered(6, 3), 4, axis=0)
    store = ChromaVectors.build(chroma_client(tmp_path), matrix, "kb", "ties")
    [hits] = store.search(matrix[4:5], 3)
    assert [row for row, _ in hits] == [4, 5, 6]


@pytest.mark.parametrize("limit", [0, 1, 7, 500])
def test_no_more_results_than_asked_for_or_stored(tmp_path: Path, limit: int) -> None:
    matrix = clustered(8, 7)
    store = ChromaVectors.build(chroma_client(tmp_path), matrix, "kb", "few")
    assert [len(hits) for hits in store.search(matrix[:2], limit)] == [min(limit, 7)] * 2
    assert store.search(matrix[:0], limit) == []


RESTARTED = """
import sys, numpy as np
from pathlib import Path
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client
matrix = np.load(sys.argv[2])
def fail(_):
    raise SystemExit("built again")
store = ChromaVectors.build(chroma_client(Path(sys.argv[1])), matrix, "kb", "kept", fail)
for hits in store.search(matrix[:20], 5):
    print(*[row for row, _ in hits])
"""


@pytest.mark.slow
def test_another_process_finds_what_was_stored_and_builds_nothing(tmp_path: Path) -> None:
    matrix = clustered(9, 1_500)
    expected = ChromaVectors.build(chroma_client(tmp_path / "c"), matrix, "kb", "kept").search(matrix[:20], 5)
    np.save(tmp_path / "m.npy", matrix)
    done = subprocess.run(
        [sys.executable, "-c", RESTARTED, tmp_path / "c", tmp_path / "m.npy"],
        capture_output=True,
        text=True,
        cwd=PROJECT_ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [list(map(int, line.split())) for line in done.stdout.splitlines()] == [
        [row for row, _ in hits] for hits in expected
    ]


@pytest.mark.slow
def test_a_build_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    matrix = clustered(10, ADD_ROWS + 50)
    client = chroma_client(tmp_path)

    def stop(progress: Progress) -> None:
        if progress.done:
            raise RunStopped(run_id="x")

    with pytest.raises(RunStopped):
        ChromaVectors.build(client, matrix, "kb", "half", stop)
    seen: list[Progress] = []
    store = ChromaVectors.build(client, matrix, "kb", "half", seen.append)
    assert [progress.done for progress in seen] == [ADD_ROWS, ADD_ROWS + 50]
    [hits] = store.search(matrix[-1:], 1)
    assert hits[0][0] == len(matrix) - 1


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).is_success
    except httpx.HTTPError:
        return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A real ``chroma run``; gives its host:port and its process."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--path", str(tmp_path / "server")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: _answers(port), 30, "the server's heartbeat", 0.1)
        yield f"127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_a_server_gives_the_hits_that_files_give(server: tuple[str, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    host, process = server
    matrix, queries = clustered(11, 2_200), clustered(12, 50)
    client = chroma_client(tmp_path / "local", host)
    there = ChromaVectors.build(client, matrix, "kb", "x")
    here = ChromaVectors.build(chroma_client(tmp_path / "files"), matrix, "kb", "x")
    assert same_hits(there.search(queries, 20), here.search(queries, 20))
    assert delete_collections(client, "kb") == 1
    with raises("vector_store_unavailable") as raised:
        there.search(queries, 20)
    assert host in str(raised.value)
    again = ChromaVectors.build(client, matrix, "kb", "x")
    process.terminate()
    process.wait(timeout=20)
    with raises("vector_store_unavailable") as raised:
        again.search(queries, 20)
    assert host in str(raised.value)


def test_a_server_that_does_not_answer_is_named_with_the_way_out(tmp_path: Path) -> None:
    for host in (f"127.0.0.1:{free_port()}", "999.1.1.1:80", "a..b:80"):
        with raises("vector_store_unavailable") as raised:
            chroma_client(tmp_path, host)
        assert host in str(raised.value)
        assert "VECTOR_STORE=exact" in str(raised.value)


@pytest.mark.parametrize(
    "host", ["localhost", "http://localhost:8000", "localhost:0", "localhost:99999", "a b:80", ":80"]
)
def test_an_illegal_server_address_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(InvalidSetting, match="CHROMA_HOST"):
        chroma_client(tmp_path, host)


def test_without_the_package_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingPackage, match="pip install chromadb"):
        chroma_client(tmp_path)


def test_one_path_has_one_client(tmp_path: Path) -> None:
    assert chroma_client(tmp_path / "a") is chroma_client(tmp_path / "b" / ".." / "a")
    assert chroma_client(tmp_path / "a") is not chroma_client(tmp_path / "b")


@pytest.mark.parametrize("owner", ["kb-1a2b", "", "…", "Ñandú y más", "a" * 900, "../../etc", "_-", "a.b"])
def test_a_collections_name_is_legal_whatever_the_owner(tmp_path: Path, owner: str) -> None:
    name = collection_name(owner, "0123456789abcdef")
    assert 3 <= len(name) <= 512
    assert name != collection_name(owner, "fedcba9876543210"), "the digest tells what is in it"
    assert name.endswith(".0123456789abcdef")
    assert chroma_client(tmp_path).api.create_collection(name, embedding_function=None).name == name


def test_two_owners_do_not_mix_even_if_one_name_begins_with_the_other(tmp_path: Path) -> None:
    client = chroma_client(tmp_path)
    one, other = clustered(13, 40), clustered(14, 60)
    stores = [ChromaVectors.build(client, m, owner, "d") for owner, m in (("kb", one), ("kb-2", other))]
    queries = clustered(15, 10)
    for store, matrix in zip(stores, (one, other), strict=True):
        assert same_hits(store.search(queries, 10), ExactVectors(matrix).search(queries, 10))
    assert delete_collections(client, "kb") == 1
    assert names(tmp_path) == ["kb-2.d"]
    assert same_hits(stores[1].search(queries, 10), ExactVectors(other).search(queries, 10))


@pytest.mark.parametrize(
    ("kind", "owner", "in_chroma"),
    [("auto", "kb", True), ("auto", "", False), ("exact", "kb", False), ("chroma", "", True), ("chroma", "kb", True)],
)
def test_auto_keeps_knowledge_bases_in_chroma_and_searches_a_corpus_exactly(
    tmp_path: Path, kind: str, owner: str, in_chroma: bool
) -> None:
    choice = VectorStoreChoice(kind, owner, tmp_path)  # type: ignore[arg-type]
    store = choice.make(clustered(16, 5), "model", ignore_progress)
    assert isinstance(store, ChromaVectors if in_chroma else ExactVectors)


@pytest.mark.parametrize(("owner", "expected"), [("kb", 2), ("", 3)])
def test_versions_of_a_knowledge_base_share_a_collection_per_model_and_data_sets_none(
    tmp_path: Path, owner: str, expected: int
) -> None:
    choice = VectorStoreChoice("chroma", owner, tmp_path)
    for rows, model in ((5, "one"), (5, "one"), (5, "two"), (6, "one")):
        choice.make(clustered(17, rows), model, ignore_progress)
    assert len(names(tmp_path)) == expected


KB = "# Manual\n\n## Vacaciones\n\nHay 23 días de vacaciones.\n\n## Dietas\n\nLa dieta completa es de 48 euros.\n"
OTHER_KB = "# Guía\n\n## Puente\n\nEl puente de piedra cruza el río.\n\n## Molino\n\nEl molino muele trigo.\n"


def test_chat_answers_from_chroma_and_the_vectors_go_with_their_knowledge_base(settings: Settings) -> None:
    # The other strategies compare the vectors of a knowledge base in memory.
    changed = settings.with_changes(retrieval_strategy="SIMPLE_VECTOR")
    app = fake_app(changed, lambda _: FakeEmbedder(), DemoModel)
    first, second = (app.kbs.add(name, text.encode()) for name, text in (("a.md", KB), ("b.md", OTHER_KB)))
    for record, question, answer in (
        (first, "¿dieta completa en euros?", "48"),
        (second, "¿qué muele trigo?", "molino"),
    ):
        trace = app.kbs.pipeline(record.kb_id).retrieve([question])[0]
        assert answer in trace.hits[0].chunk.text
        assert {hit.chunk.doc_id for hit in trace.candidates["vector"]} == {record.kb_id}
    folder = app.settings.chroma_dir
    assert [name.rsplit(".", 1)[0] for name in names(folder)] == sorted([first.kb_id, second.kb_id])
    app.kbs.delete(first.kb_id)
    assert [name.rsplit(".", 1)[0] for name in names(folder)] == [second.kb_id]
    assert app.kbs.pipeline(second.kb_id).retrieve(["molino"])[0].hits
    again = app.kbs.add("a.md", KB.encode())
    assert again.kb_id == first.kb_id
    assert "48" in app.kbs.pipeline(again.kb_id).retrieve(["dieta completa"])[0].hits[0].chunk.text


def test_deleting_an_unknown_knowledge_base_is_an_error_and_starts_no_chroma(app: App) -> None:
    with pytest.raises(KbNotFound):
        app.kbs.delete("nope")
    assert not app.settings.chroma_dir.exists()


def test_chat_and_benchmark_find_the_same_under_either_store(settings: Settings) -> None:
    rankings = []
    for kind in ("exact", "chroma"):
        app = fake_app(settings.with_changes(vector_store=kind), lambda _: FakeEmbedder(), DemoModel)
        result = app.runs.run_now(retrieval_strategy="SIMPLE_VECTOR")
        rankings.append([row.retrieved[:5] for row in result.per_query])
    assert rankings[0] == rankings[1]


@pytest.mark.slow
def test_chroma_is_imported_only_when_it_is_used() -> None:
    code = "import sys, chatbot_mvp.app; sys.exit('chromadb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT_ROOT, check=False).returncode == 0
