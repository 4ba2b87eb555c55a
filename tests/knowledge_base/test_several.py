"""A question over several knowledge bases: one ranking of all passages, each citation with its own knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.api import DocumentFilter, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.errors import FilterError, KbNotFound
from chatbot_mvp.knowledge_base.pipelines import JOINED
from chatbot_mvp.settings.model import Settings
from tests.conftest import Command
from tests.fakes import FakeEmbedder, fake_app
from tests.knowledge_base.test_filters import OPEN, SECRET, new

BOTH = "¿Cuántos días duran las vacaciones?"
STRATEGIES = ("LEXICAL", "SIMPLE_VECTOR", "HYBRID", "BRIDGE_HYBRID", "KB_CHAT")


def two(app: App) -> tuple[str, str]:
    store = app.kbs.store
    one = store.keep([new(*pair) for pair in OPEN.items()], 100_000, "Personas").kb_id
    return one, store.keep([new("secreto.md", SECRET, tags=("secreto",))], 100_000, "Dirección").kb_id


@pytest.fixture(params=STRATEGIES)
def app(request: pytest.FixtureRequest, settings: Settings) -> App:
    return fake_app(settings.with_changes(retrieval_strategy=request.param), lambda _: FakeEmbedder())


def test_each_citation_names_its_own_knowledge_base_and_its_place_there(app: App) -> None:
    one, other = two(app)
    for question, kb_id, file in (
        ("¿A cuánto se paga cada kilómetro?", one, "viajes.md"),
        ("¿Cuántos días duran las vacaciones de Zurbarán?", other, "secreto.md"),
    ):
        answer = app.answering.ask_over([one, other], question)
        cited = answer.sources or (answer.nearest.passages if answer.nearest else ())
        assert cited
        [source, *_] = cited
        record = app.kbs.store.record(kb_id)
        assert source.chunk.doc_id == kb_id
        assert source.chunk.text == app.kbs.document(kb_id).text[source.chunk.start : source.chunk.end]
        assert source.place is not None
        assert source.place.file in (file, f"{record.kb_name}: {file}")


def test_the_ranking_is_that_of_one_index_over_all_chunks_in_whatever_order_they_are_named(app: App) -> None:
    one, other = two(app)
    pipeline = app.kbs.over([one, other]).complete()
    assert app.kbs.over([other, one, one]) is app.kbs.over([one, other])
    size = app.settings.retrieval_chunk_chars
    every = {c.chunk_id for kb_id in (one, other) for c in chunk_document(app.kbs.document(kb_id), size)}
    assert {chunk.chunk_id.partition("-0")[0] for chunk in pipeline.index.chunks} <= every
    [trace] = pipeline.retrieve([BOTH])
    assert {hit.chunk.doc_id for hit in trace.hits} == {one, other}


def test_a_filter_holds_in_all_of_them(app: App) -> None:
    one, other = two(app)
    chosen = UserContext(documents=DocumentFilter(folders=("rrhh",)))
    answer = app.answering.ask_over([one, other], BOTH, chosen)
    assert {hit.chunk.doc_id for hit in answer.trace.hits} <= {one}
    chosen = UserContext(documents=DocumentFilter(tags=("secreto",)))
    assert {hit.chunk.doc_id for hit in app.answering.ask_over([one, other], BOTH, chosen).trace.hits} == {other}
    with pytest.raises(FilterError):
        app.answering.ask_over([one, other], BOTH, UserContext(documents=DocumentFilter(tags=("x",))))


def test_a_knowledge_base_that_changes_or_goes_is_not_found_as_it_was(app: App) -> None:
    one, other = two(app)
    app.answering.ask_over([one, other], BOTH)
    folders = app.settings.cache_dir / "indexes"
    kept = [path for path in folders.glob(f"*{JOINED}*") if path.is_dir()]
    app.kb_changes.change(other, new=[new("secreto.md", "# Nada\n\nAquí ya no hay vacaciones de nadie.")])
    answer = app.answering.ask_over([one, other], BOTH)
    assert not any("Zurbarán" in hit.chunk.text for hit in answer.trace.hits)
    app.kbs.delete(other)
    assert not [path for path in kept if path.exists()]
    with pytest.raises(KbNotFound):
        app.answering.ask_over([one, other], BOTH)


def test_one_knowledge_base_named_alone_is_asked_as_ever(app: App) -> None:
    one, _ = two(app)
    assert app.answering.ask_over([one, one], BOTH).fingerprint == app.answering.ask(one, BOTH).fingerprint
    assert app.kbs.over([one]) is app.kbs.growing(one)


def test_the_command_asks_several(command: Command, clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    (clean_env / "uno.md").write_text(OPEN["viajes.md"], "utf-8")
    (clean_env / "otro.md").write_text(SECRET, "utf-8")
    code, out, _ = command("kb", "ask", "uno.md", "¿Cuántos días duran las vacaciones de Zurbarán?", "--and", "otro.md")
    assert code == 0
    assert "otro.md" in out
    code, _, err = command("kb", "ask", "uno.md", BOTH, "--and", "no-hay")
    assert code == 2
    assert "no-hay" in err
