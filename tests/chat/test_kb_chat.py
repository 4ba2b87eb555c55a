"""The KB chat over the sample handbook, with a provider on loopback that records what it is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.prompting import no_evidence
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.stages.kb_chat.score import WEIGHTS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import detect_language
from chatbot_mvp.types import last
from tests.fakes import FakeEmbedder, fake_app
from tests.llm.openai_stub import OpenAiStub
from tests.retrieval.stages.kb_chat.handbook import PRESET

INSIDE = "¿Cuántos días laborables de vacaciones tiene cada persona por año natural?"
OUTSIDE = "¿Cuál fue el gremio medieval más poderoso de Brujas?"
FAINT = "Explíqueme detalladamente cuánta electricidad consumirían seiscientas bicicletas plegables alquiladas"
"""One word of many is in the handbook, so passages are found, with a low score."""
REPLY = "Cada persona dispone de 23 días laborables de vacaciones por año natural completo trabajado. [1]"


@pytest.fixture
def stub() -> Iterator[OpenAiStub]:
    with OpenAiStub() as server:
        server.reply = REPLY
        yield server


@pytest.fixture
def chat(settings: Settings, stub: OpenAiStub) -> App:
    """The App with the KB chat's settings and the stub as its provider."""
    own = settings.with_changes(
        **PRESET, openai_api_key="k", openai_base_url=stub.url, llm_cache_enabled=False, provider="openai"
    )
    return fake_app(own)


@pytest.fixture
def kb_id(chat: App) -> str:
    source = chat.settings.samples_dir / "kb" / "politica_empresa.md"
    return chat.kbs.add(source.name, source.read_bytes()).kb_id


def ask(chat: App, kb_id: str, question: str, mode: str) -> Answer:
    return chat.answering.ask(kb_id, question, UserContext(mode))  # type: ignore[arg-type]


def test_strict_mode_without_evidence_gives_the_fixed_reply_without_sources_and_sends_no_request(
    chat: App, kb_id: str, stub: OpenAiStub
) -> None:
    for question, found in ((OUTSIDE, False), (FAINT, True)):
        answer = ask(chat, kb_id, question, "strict")
        assert bool(answer.trace.chunks_final) == found
        assert (answer.text, answer.sources, answer.completion) == (no_evidence("es"), (), None)
        assert answer.decision.evidence < 0.5
        assert not answer.from_kb
    assert stub.requests == []


def test_strict_mode_never_asks_back_and_shows_what_the_provider_says(chat: App, kb_id: str, stub: OpenAiStub) -> None:
    usual = fake_app(chat.settings.with_changes(chat_asks_back=True, chat_withholds=True))
    assert ask(usual, kb_id, "¿Cuándo se paga?", "strict").outcome == "asks"
    assert ask(chat, kb_id, "¿Cuándo se paga?", "strict").outcome != "asks"
    stub.reply = "Un texto que ningún fragmento respalda."
    assert ask(usual, kb_id, INSIDE, "strict").why == "unsupported"
    answer = ask(chat, kb_id, INSIDE, "strict")
    assert (answer.outcome, answer.why) == ("answered", None)
    assert answer.text.startswith("Un texto que ningún fragmento respalda")


def test_strict_mode_with_evidence_asks_the_provider_once_and_cites(chat: App, kb_id: str, stub: OpenAiStub) -> None:
    answer = ask(chat, kb_id, INSIDE, "strict")
    assert (answer.outcome, answer.from_kb) == ("answered", True)
    assert "23 días laborables" in answer.text
    assert [source.chunk.section for source in answer.sources] == ["Vacaciones"]
    assert [request.method for request in stub.requests] == ["POST"]
    sent = "\n".join(message["content"] for message in stub.requests[0].json["messages"])
    assert all(hit.chunk.text in sent for hit in answer.trace.chunks_final)


def test_general_mode_with_evidence_is_grounded_and_without_it_answers_without_sources(
    chat: App, kb_id: str, stub: OpenAiStub
) -> None:
    grounded = ask(chat, kb_id, INSIDE, "general")
    assert [source.chunk.section for source in grounded.sources] == ["Vacaciones"]
    stub.reply = "El de los pañeros, que dominaba el comercio de la lana."
    open_answer = ask(chat, kb_id, OUTSIDE, "general")
    assert (open_answer.text, open_answer.sources, open_answer.from_kb) == (stub.reply, (), False)
    assert len(stub.requests) == 2
    sent = "\n".join(message["content"] for message in stub.requests[1].json["messages"])
    assert "VAC-01" not in sent


def test_the_debug_data_have_the_names_of_the_kb_chat(chat: App, kb_id: str) -> None:
    trace = ask(chat, kb_id, INSIDE, "strict").trace
    assert trace.query_expanded.startswith(INSIDE)
    assert trace.expansion_notes
    assert {note.partition(": ")[0] for note in trace.expansion_notes} <= {
        "heading_match",
        "fuzzy_heading",
        "vocab",
        "cooc",
    }
    for hit in trace.chunks_final:
        assert set(WEIGHTS) <= set(hit.signals)
        assert hit.score >= PRESET["kb_min_score"]
        assert hit.score == pytest.approx(sum(w * hit.signals[name] for name, w in WEIGHTS.items()), abs=1e-5)
    assert 0 < trace.context_chars_used <= trace.context_chars_budget == PRESET["kb_max_context_chars"]
    assert trace.stitching_added_count == len(trace.chunks_added_by_stitching)


def test_a_run_over_a_data_set_takes_each_passage_as_a_chunk_under_its_title(chat: App, stub: OpenAiStub) -> None:
    result = chat.runs.run_now(mteb_dataset_name="valle_multihop", generation_enabled=False)
    assert (result.strategy, stub.requests) == ("KB_CHAT", [])
    data = chat.datasets.load("valle_multihop")
    chunks = [passage_chunk(document) for document in data.documents]
    language = detect_language(" ".join(document.text for document in data.documents))
    pipeline = last(growing_pipeline(chunks, language, chat.settings, FakeEmbedder))
    question = data.queries[0]
    [trace] = pipeline.retrieve([question.text])
    assert {hit.chunk.chunk_id for hit in trace.chunks_final} <= {document.doc_id for document in data.documents}
    assert all(set(WEIGHTS) <= set(hit.signals) for hit in trace.hits)
    recorded = result.per_query[[row.query_id for row in result.per_query].index(question.query_id)]
    relevant = {doc_id for doc_id, grade in data.qrels[question.query_id].items() if grade > 0}
    found = relevant & {hit.chunk.doc_id for hit in trace.hits[:5]}
    assert recorded.metrics["recall@5"] == pytest.approx(len(found) / len(relevant))
    assert result.metrics["hit@1"] > 0.5
