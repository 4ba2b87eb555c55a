"""``VECTOR_STORE=chroma`` over a knowledge base: windows and sentences are searched in ChromaDB, by every strategy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.indexes import chroma
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, chroma_client
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.raising import raises
from tests.retrieval.indexes.test_chroma import clustered, names
from tests.retrieval.indexes.test_chroma import server as server

pytestmark = pytest.mark.xdist_group("chroma")

HANDBOOK = (PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md").read_bytes()
QUESTIONS = ["¿Cuántos días de vacaciones tengo?", "¿Quién autoriza una compra?", "gastos de viaje y dietas"]
WITH_VECTORS = [name for name, strategy in STRATEGIES.items() if strategy.needs_vectors]


@pytest.fixture(params=["files", "server"])
def host(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.getfixturevalue("server")[0] if request.param == "server" else ""


def searched(settings: Settings, strategy: str, store: str, host: str = "") -> tuple[App, str]:
    changed = settings.with_changes(retrieval_strategy=strategy, vector_store=store, chroma_host=host)
    app = fake_app(
        changed,
        embedder=lambda _: FakeEmbedder(),
        chat_model=DemoModel,
        language_model=lambda *_: FakeLanguageModel().model,
    )
    return app, app.kbs.add("manual.md", HANDBOOK).kb_id


def ranked(app: App, kb_id: str) -> list[list[str]]:
    return [[hit.chunk.chunk_id for hit in trace.hits] for trace in traces(app, kb_id)]


def traces(app: App, kb_id: str) -> list[RetrievalTrace]:
    return app.kbs.pipeline(kb_id).retrieve(QUESTIONS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", WITH_VECTORS)
def test_a_handbook_is_ranked_as_by_exact_search_and_the_vectors_go_with_it(
    settings: Settings, tmp_path: Path, strategy: str, host: str
) -> None:
    app, kb_id = searched(settings, strategy, "chroma", host)
    exact, same_id = searched(settings.with_changes(data_dir=tmp_path / "exact"), strategy, "exact")
    assert kb_id == same_id
    assert ranked(app, kb_id) == ranked(exact, kb_id)
    for here, there in zip(traces(app, kb_id), traces(exact, kb_id), strict=True):
        assert here.evidence == pytest.approx(there.evidence, abs=1e-3)
    client = chroma_client(app.settings.chroma_dir, host)
    assert len(client.api.list_collections()) == 3, "chunks, windows, sentences"
    app.kbs.delete(kb_id)
    assert not client.api.list_collections()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", WITH_VECTORS)
def test_a_collection_that_was_emptied_is_an_error_and_not_a_ranking(settings: Settings, strategy: str) -> None:
    app, kb_id = searched(settings, strategy, "chroma")
    assert all(ranked(app, kb_id))
    for collection in chroma_client(app.settings.chroma_dir).api.list_collections():
        collection.delete(ids=collection.get(include=[])["ids"])
    with raises("vector_store_unavailable", match=r"has 0 of \d+ rows"):
        ranked(app, kb_id)


@pytest.mark.parametrize("strategy", [name for name in WITH_VECTORS if not STRATEGIES[name].searches_kb_vectors])
def test_auto_compares_windows_in_memory_and_opens_no_chromadb(settings: Settings, strategy: str) -> None:
    app, kb_id = searched(settings, strategy, "auto")
    assert all(ranked(app, kb_id))
    assert not app.settings.chroma_dir.exists()


def test_rows_beyond_the_nearest_have_the_lowest_cosine_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma, "NEAREST", 50)
    matrix, query = clustered(21, 400), clustered(22, 1)[0]
    store = ChromaVectors.build(chroma_client(tmp_path), matrix, "kb", "rows", keep=False)
    found, exact = store.cosines(query), ExactVectors(matrix).cosines(query)
    order = np.argsort(-exact, kind="stable")
    np.testing.assert_allclose(found[order[:50]], exact[order[:50]], atol=2e-6)
    np.testing.assert_allclose(found[order[50:]], exact[order[49]], atol=2e-6)
    rows = np.array([7, 3, 399, 7])
    np.testing.assert_allclose(store.similarities(query, rows), exact[rows], atol=2e-6)
    assert store.similarities(query, rows[:0]).shape == (0,)
    assert names(tmp_path) == ["kb.rows"]
