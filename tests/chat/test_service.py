"""An answer rests on the evidence, or says plainly that there is none."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.service import NO_EVIDENCE, NO_MODEL, Answer, ChatService, Mode
from chatbot_mvp.kb.chunking import chunk_document
from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.retrieval.pipeline import Pipeline, build_pipeline
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Document
from tests.fakes import FakeChatModel, FakeEmbedder

SOURCE = """# Manual

Intro del manual.

## Vacaciones

Cada persona dispone de 23 días laborables de vacaciones. La solicitud va al portal.

## Dietas

La dieta de jornada completa es de 48 euros.
"""
INSIDE = "¿De cuántos días laborables de vacaciones dispone cada persona?"
OUTSIDE = "¿Qué altura tiene la torre Eiffel?"
THRESHOLD = 0.5


@pytest.fixture(params=["LEXICAL", "HYBRID"])
def pipeline(request: pytest.FixtureRequest, settings: Settings) -> Pipeline:
    chunks = chunk_document(Document("kb", "manual", SOURCE))
    changed = settings.with_changes(retrieval_strategy=request.param)
    return build_pipeline(chunks, "es", changed, FakeEmbedder)


def ask(pipeline: Pipeline, model: FakeChatModel, question: str, mode: Mode, language: str = "es") -> Answer:
    return ChatService(model, THRESHOLD).ask(pipeline, question, mode, language)


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("question", [OUTSIDE, "", "🙂", "submarino " * 200])
def test_strict_without_evidence_gives_the_fixed_reply_and_asks_no_model(
    pipeline: Pipeline, question: str, language: str
) -> None:
    model = FakeChatModel("Inventado. [1]")
    answer = ask(pipeline, model, question, "strict", language)
    assert (answer.text, answer.sources, answer.completion) == (NO_EVIDENCE[language], (), None)
    assert answer.abstained
    assert model.requests == []


@pytest.mark.parametrize("mode", ["strict", "general"])
def test_with_evidence_the_model_gets_the_chosen_passages_best_first(pipeline: Pipeline, mode: Mode) -> None:
    model = FakeChatModel("Cada persona dispone de 23 días laborables de vacaciones. [1]")
    answer = ask(pipeline, model, INSIDE, mode)
    [request] = model.requests
    passages = tuple(hit.chunk for hit in answer.trace.chunks_final)
    assert request.grounding == Grounding(INSIDE, passages, "es")
    assert passages[0].section == "Vacaciones"
    assert (answer.text, answer.abstained) == (model.reply, False)
    [source] = answer.sources
    assert [SOURCE[start:end] for start, end in source.highlights] == [
        "Cada persona dispone de 23 días laborables de vacaciones."
    ]


def test_general_without_evidence_lets_a_model_answer_on_its_own_without_passages(pipeline: Pipeline) -> None:
    model = FakeChatModel("Mide 330 metros. [1]")
    answer = ask(pipeline, model, OUTSIDE, "general")
    assert [request.grounding for request in model.requests] == [Grounding(OUTSIDE, (), "es")]
    assert (answer.text, answer.sources, answer.abstained) == (model.reply, (), False)


def test_general_without_evidence_and_with_a_model_that_can_only_quote_says_so(pipeline: Pipeline) -> None:
    model = FakeChatModel("Inventado. [1]", needs_evidence=True)
    answer = ask(pipeline, model, OUTSIDE, "general", "en")
    assert (answer.text, answer.sources, answer.abstained) == (NO_MODEL["en"], (), True)
    assert model.requests == []


@pytest.mark.parametrize("mode", ["strict", "general"])
def test_a_model_that_has_no_answer_in_spite_of_evidence_gives_the_fixed_reply(pipeline: Pipeline, mode: Mode) -> None:
    answer = ask(pipeline, FakeChatModel(""), INSIDE, mode)
    assert (answer.text, answer.sources, answer.abstained) == (NO_EVIDENCE["es"], (), True)
    assert answer.completion is not None


@pytest.mark.parametrize(("above", "abstained"), [(-1.0, False), (0.0, False), (1e-9, True)])
def test_the_threshold_decides_what_is_enough(pipeline: Pipeline, above: float, abstained: bool) -> None:
    """An evidence score is enough from the threshold on, that value included."""
    [trace] = pipeline.retrieve([INSIDE])
    assert trace.evidence is not None
    service = ChatService(FakeChatModel("23 días. [1]"), trace.evidence + above)
    assert service.ask(pipeline, INSIDE, "strict", "es").abstained is abstained


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿Cuánto cobra quien usa su propio coche por kilómetro?", "0,26 euros por kilómetro"),
        ("¿Cuántos días laborables de vacaciones tiene cada persona?", "23 días laborables de vacaciones"),
    ],
)
def test_the_demo_provider_quotes_the_sample_kb_and_its_highlights_are_the_quotes(
    app: App, question: str, expected: str
) -> None:
    record = app.add_sample_kb()
    source_text = app.kb_document(record.kb_id).text
    answer = app.ask(record.kb_id, question, "strict", "es")
    assert not answer.abstained
    assert expected in answer.text
    quotes = {piece.rsplit(" [", 1)[0] for piece in answer.text.split("\n\n")}
    highlighted = {source_text[start:end] for source in answer.sources for start, end in source.highlights}
    assert all(any(quote in text for text in highlighted) for quote in quotes)
    assert all(any(quote in source.chunk.text for source in answer.sources) for quote in quotes)


def test_the_kb_answers_alike_after_a_restart(app: App, settings: Settings) -> None:
    record = app.add_kb("manual.md", SOURCE.encode())
    before = app.ask(record.kb_id, INSIDE, "strict", "es")
    later = App(settings, embedder=lambda _: FakeEmbedder(), chat_model=app._make_chat_model)
    after = later.ask(record.kb_id, INSIDE, "strict", "es")
    assert [kb.kb_id for kb in later.kbs()] == [record.kb_id]
    assert (after.text, after.sources) == (before.text, before.sources)
    assert not after.abstained


def test_brackets_in_the_document_are_no_citations(app: App) -> None:
    """A document may number its own references; only what the answer quotes is a source."""
    text = "# Presa\n\nSegún el informe [2] la presa del embalse mide 40 metros.\n\n# Otra\n\nLa otra presa es baja.\n"
    record = app.add_kb("presa.md", text.encode())
    answer = app.ask(record.kb_id, "¿Cuánto mide la presa del embalse según el informe?", "strict", "es")
    [source] = answer.sources
    document = app.kb_document(record.kb_id).text
    assert [document[start:end] for start, end in source.highlights] == [
        "Según el informe [2] la presa del embalse mide 40 metros."
    ]
