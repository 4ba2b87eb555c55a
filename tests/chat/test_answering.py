"""An answer rests on the evidence, or says plainly that there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.answer import Answer, Event, Finished, Piece, Restarted, Retrieved
from chatbot_mvp.chat.context import MAX_QUESTION_CHARS, Mode, UserContext
from chatbot_mvp.chat.prompting import no_evidence, no_model
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.llm.base import ChatModel, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE, ChatService
from tests.fakes import FailingChatModel, FakeChatModel, FakeEmbedder, SlowChatModel, fake_app
from tests.raising import raises

NEVER_ASKED = UserContext(kb_doubt_evidence=1.0)
"""Decides by the evidence score alone."""
BOTH = f"{INSIDE[:-1]} y de cuánto es la dieta de jornada completa?"


@pytest.fixture
def service_of(settings: Settings) -> Callable[[ChatModel], ChatService]:
    return lambda model: ChatService(model, settings, DemoModel())


@pytest.fixture
def ask(settings: Settings) -> Callable[..., Answer]:
    def ask(pipeline: Pipeline, model: ChatModel, question: str, mode: Mode, language: str = "es") -> Answer:
        context = UserContext(mode, language, kb_doubt_evidence=1.0)
        return ChatService(model, settings, DemoModel()).ask(pipeline, question, context)

    return ask


@pytest.mark.parametrize("language", ["es", "en"])
@pytest.mark.parametrize("question", [OUTSIDE, "", "🙂", "submarino " * 200])
def test_strict_without_evidence_gives_the_fixed_reply_and_asks_no_model(
    ask, pipeline: Pipeline, question: str, language: str
) -> None:
    model = FakeChatModel("Inventado. [1]")
    answer = ask(pipeline, model, question, "strict", language)
    assert (answer.text, answer.sources, answer.completion) == (no_evidence(language), (), None)
    assert answer.abstained
    assert model.requests == []


@pytest.mark.parametrize("mode", ["strict", "general"])
def test_with_evidence_the_model_gets_the_chosen_passages_best_first(ask, pipeline: Pipeline, mode: Mode) -> None:
    model = FakeChatModel("Cada persona dispone de 23 días laborables de vacaciones. [1]")
    answer = ask(pipeline, model, BOTH, mode)
    [request] = model.requests
    passages = tuple(hit.chunk for hit in answer.trace.chunks_final)
    assert request.grounding == Grounding(BOTH, passages, "es")
    assert [one.section for one in passages] == ["Vacaciones", "Dietas"]
    places = [request.messages[1].content.find(f"[{number}] {one.section}") for number, one in enumerate(passages, 1)]
    assert places == sorted(places)
    assert -1 not in places
    assert (answer.text, answer.abstained) == (model.reply, False)
    [source] = answer.sources
    assert [SOURCE[start:end] for start, end in source.highlights] == [
        "Cada persona dispone de 23 días laborables de vacaciones."
    ]


def test_general_without_evidence_lets_a_model_answer_on_its_own_without_passages(ask, pipeline: Pipeline) -> None:
    model = FakeChatModel("Mide 330 metros. [1]")
    answer = ask(pipeline, model, OUTSIDE, "general")
    assert [request.grounding for request in model.requests] == [Grounding(OUTSIDE, (), "es")]
    assert (answer.text, answer.sources, answer.abstained) == ("Mide 330 metros.", (), False)
    assert not answer.from_kb


def test_general_without_evidence_and_with_a_model_that_can_only_quote_says_so(ask, pipeline: Pipeline) -> None:
    model = FakeChatModel("Inventado. [1]", needs_evidence=True)
    answer = ask(pipeline, model, OUTSIDE, "general", "en")
    assert (answer.text, answer.sources, answer.abstained) == (no_model("en"), (), True)
    assert model.requests == []


@pytest.mark.parametrize("mode", ["strict", "general"])
def test_a_model_that_has_no_answer_in_spite_of_evidence_gives_the_fixed_reply(
    ask, pipeline: Pipeline, mode: Mode
) -> None:
    answer = ask(pipeline, FakeChatModel(""), INSIDE, mode)
    assert (answer.text, answer.sources, answer.abstained) == (no_evidence("es"), (), True)
    assert answer.completion is not None


@pytest.mark.parametrize(("above", "abstained"), [(-0.5, False), (0.0, False), (1e-9, True)])
def test_the_threshold_decides_what_is_enough(service_of, pipeline: Pipeline, above: float, abstained: bool) -> None:
    """An evidence score is enough from the threshold on, that value included."""
    [trace] = pipeline.retrieve([INSIDE])
    assert trace.evidence is not None
    context = UserContext(kb_min_evidence=trace.evidence + above, kb_doubt_evidence=1.0)
    assert service_of(FakeChatModel("23 días. [1]")).ask(pipeline, INSIDE, context).abstained is abstained


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿Cuánto se paga por kilómetro de coche propio?", "0,26 euros por kilómetro"),
        ("¿Cuántos días laborables de vacaciones tiene cada persona?", "23 días laborables de vacaciones"),
    ],
)
def test_the_demo_provider_quotes_the_sample_kb_and_its_highlights_are_the_quotes(
    app: App, question: str, expected: str
) -> None:
    record = app.kbs.add_sample()
    source_text = app.kbs.document(record.kb_id).text
    answer = app.answering.ask(record.kb_id, question)
    assert not answer.abstained
    assert expected in answer.text
    quotes = {piece.rsplit(" [", 1)[0] for piece in answer.text.split("\n\n")}
    highlighted = {source_text[start:end] for source in answer.sources for start, end in source.highlights}
    assert all(any(quote in text for text in highlighted) for quote in quotes)
    assert all(any(quote in source.chunk.text for source in answer.sources) for quote in quotes)


def test_the_kb_answers_alike_after_a_restart(app: App, settings: Settings) -> None:
    record = app.kbs.add("manual.md", SOURCE.encode())
    before = app.answering.ask(record.kb_id, INSIDE)
    later = fake_app(settings, embedder=lambda _: FakeEmbedder(), chat_model=DemoModel)
    after = later.answering.ask(record.kb_id, INSIDE)
    assert [kb.kb_id for kb in later.kbs.records()] == [record.kb_id]
    assert (after.text, after.sources) == (before.text, before.sources)
    assert not after.abstained


def test_brackets_in_the_document_are_no_citations(app: App) -> None:
    """A document may number its own references; only what the answer quotes is a source."""
    text = "# Presa\n\nSegún el informe [2] la presa del embalse mide 40 metros.\n\n# Otra\n\nLa otra presa es baja.\n"
    record = app.kbs.add("presa.md", text.encode())
    answer = app.answering.ask(record.kb_id, "¿Cuánto mide la presa del embalse según el informe?")
    [source] = answer.sources
    document = app.kbs.document(record.kb_id).text
    assert [document[start:end] for start, end in source.highlights] == [
        "Según el informe [2] la presa del embalse mide 40 metros."
    ]


def test_general_without_evidence_and_a_citation_of_nothing_is_no_source(ask, pipeline: Pipeline) -> None:
    answer = ask(pipeline, FakeChatModel("Mide 330 metros [7], según [1]."), OUTSIDE, "general")
    assert answer.text == "Mide 330 metros, según."


@pytest.mark.parametrize("mode", ["strict", "general"])
def test_citations_that_name_no_source_are_removed(ask, pipeline: Pipeline, mode: Mode) -> None:
    reply = "Cada persona dispone de 23 días laborables de vacaciones [1][9]. La solicitud va al portal [0] [1, 12]."
    answer = ask(pipeline, FakeChatModel(reply), INSIDE, mode)
    assert answer.text == (
        "Cada persona dispone de 23 días laborables de vacaciones [1]. La solicitud va al portal [1]."
    )
    assert answer.from_kb


def test_a_model_that_declines_in_the_words_it_was_given_abstains(ask, pipeline: Pipeline) -> None:
    """Whatever language the model declines in, the reader gets the fixed reply in their own, without sources."""
    for reply in (no_evidence("es"), f"**{no_evidence('en')}** [1]"):
        answer = ask(pipeline, FakeChatModel(reply), INSIDE, "strict", "en")
        assert (answer.text, answer.sources, answer.abstained) == (no_evidence("en"), (), True)
        assert not answer.from_kb


def test_unsupported_sentences_are_marked_as_data(ask, pipeline: Pipeline) -> None:
    reply = "Cada persona dispone de 23 días laborables de vacaciones. [1] El director vive en Lisboa. [1]"
    answer = ask(pipeline, FakeChatModel(reply), INSIDE, "strict")
    shown = [(answer.text[s.start : s.end], s.numbers, s.supported) for s in answer.statements]
    assert shown == [
        ("Cada persona dispone de 23 días laborables de vacaciones.", (1,), True),
        ("El director vive en Lisboa.", (1,), False),
    ]


@pytest.mark.parametrize(
    ("name", "question", "mode", "set_to", "expected"),
    [
        ("groq/llama", INSIDE, "strict", None, 700),
        ("groq/llama", OUTSIDE, "general", None, 1_024),
        ("groq/llama", INSIDE, "strict", 90, 90),
        ("gemini/flash", INSIDE, "strict", None, 1_024),
        ("gemini/flash", INSIDE, "general", 90, 90),
    ],
)
def test_longest_answer(
    service_of: Callable[[ChatModel], ChatService],
    pipeline: Pipeline,
    name: str,
    question: str,
    mode: Mode,
    set_to: int | None,
    expected: int,
) -> None:
    """Groq answers from a knowledge base in at most 700 tokens, others as LLM_MAX_TOKENS says."""
    model = FakeChatModel("23 días. [1]")
    model.name = name
    service_of(model).ask(pipeline, question, UserContext(mode, chat_max_tokens=set_to, kb_doubt_evidence=1.0))
    assert [request.options.max_tokens for request in model.requests] == [expected]


def test_knobs_override_the_settings_and_leave_the_pipeline_as_it_is(service_of, pipeline: Pipeline) -> None:
    service = service_of(FakeChatModel("23 días. [1]"))
    before = fingerprint(pipeline.config)
    question = "vacaciones dieta manual"
    wide = service.ask(pipeline, question, UserContext("general", kb_top_k=5))
    narrow = service.ask(pipeline, question, UserContext("general", kb_top_k=1))
    assert len(wide.trace.chunks_final) > len(narrow.trace.chunks_final) == 1
    small = service.ask(pipeline, question, UserContext("general", kb_max_context_chars=500))
    assert small.trace.context_chars_budget == 500
    high = service.ask(pipeline, question, UserContext("general", kb_min_score=1.0))
    assert len(high.trace.chunks_final) == 1
    assert fingerprint(pipeline.config) == before


def test_knobs_equal_to_the_settings_have_the_fingerprint_of_no_knobs(
    service_of, pipeline: Pipeline, settings: Settings
) -> None:
    service = service_of(FakeChatModel("23 días. [1]"))
    plain = service.ask(pipeline, INSIDE, NEVER_ASKED)
    same = service.ask(pipeline, INSIDE, UserContext(kb_top_k=settings.kb_top_k, kb_max_context_chars=4_000))
    other = service.ask(pipeline, INSIDE, UserContext(kb_top_k=2))
    assert plain.fingerprint == same.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    "context",
    [UserContext(kb_top_k=0), UserContext(kb_min_score=1.5), UserContext(kb_max_context_chars=3)],
)
def test_a_knob_out_of_its_range_is_refused(service_of, pipeline: Pipeline, context: UserContext) -> None:
    with pytest.raises(InvalidSetting):
        service_of(FakeChatModel("")).ask(pipeline, INSIDE, context)


# --- streaming


def kinds(events: list[Event]) -> list[type]:
    """The kinds of events in order, repeated ones once."""
    found: list[type] = []
    for event in events:
        if not found or found[-1] is not type(event):
            found.append(type(event))
    return found


def test_what_was_found_comes_first_then_the_text_then_the_same_answer_as_at_once(
    service_of, pipeline: Pipeline
) -> None:
    model = FakeChatModel("Cada persona dispone de 23 días laborables de vacaciones. [1]")
    events = list(service_of(model).ask_stream(pipeline, INSIDE))
    assert kinds(events) == [Retrieved, Piece, Finished]
    assert "".join(event.text for event in events if isinstance(event, Piece)) == model.reply
    whole = service_of(model).ask(pipeline, INSIDE)
    answer = events[-1].answer
    assert (answer.text, answer.sources, answer.statements) == (whole.text, whole.sources, whole.statements)


@pytest.mark.parametrize("pieces", [0, 3])
@pytest.mark.parametrize("mode", ["strict", "general"])
def test_a_provider_that_fails_falls_back_visibly_to_quoting(
    service_of, pipeline: Pipeline, pieces: int, mode: Mode
) -> None:
    model = FailingChatModel(pieces=pieces)
    events = list(service_of(model).ask_stream(pipeline, INSIDE, UserContext(mode, kb_doubt_evidence=1.0)))
    assert kinds(events) == [Retrieved, *([Piece] if pieces else []), Restarted, Piece, Finished]
    answer = events[-1].answer
    assert "23 días laborables" in answer.text
    assert answer.fell_back
    assert (answer.failure.code, answer.failure.params) == ("fake_outage", {"provider": "failing/model"})
    assert answer.completion.model == "demo"
    assert answer.sources
    assert model.closed


def test_a_provider_that_fails_without_evidence_says_so_and_invents_nothing(service_of, pipeline: Pipeline) -> None:
    answer = service_of(FailingChatModel()).ask(pipeline, OUTSIDE, UserContext("general"))
    assert (answer.text, answer.abstained, answer.fell_back) == (no_model("es"), True, True)


def test_a_stream_that_is_cancelled_ends_with_what_had_come(service_of, pipeline: Pipeline) -> None:
    model = SlowChatModel("Cada persona dispone de 23 días laborables de vacaciones al año y más. [1]", 0.01)
    stream = service_of(model).ask_stream(pipeline, INSIDE)
    events = []
    for event in stream:
        events.append(event)
        if sum(isinstance(event, Piece) for event in events) == 3:
            stream.cancel()
    answer = events[-1].answer
    assert answer.text == "Cada persona dispone"
    assert (answer.completion.finish_reason, answer.abstained) == ("cancelled", False)
    assert model.streams[0].closed.is_set()


def test_a_consumer_that_leaves_closes_the_providers_stream(service_of, pipeline: Pipeline) -> None:
    model = SlowChatModel("uno dos tres cuatro cinco. [1]", 0.0)
    events = iter(service_of(model).ask_stream(pipeline, INSIDE))
    while not isinstance(next(events), Piece):
        pass
    events.close()
    assert model.streams[0].closed.is_set()


def test_a_question_over_the_limit_is_refused_before_anything_is_searched_and_one_at_the_limit_is_answered(
    settings: Settings,
) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), chat_model=DemoModel)
    kb = app.kbs.add_sample()
    with raises("question_too_long", match="4001 characters, and at most 4000"):
        app.answering.ask(kb.kb_id, "a" * (MAX_QUESTION_CHARS + 1))
    assert app.answering.ask(kb.kb_id, "¿vacaciones? ".ljust(MAX_QUESTION_CHARS, "[")).text


KNOBS = {
    "kb_top_k": 7,
    "kb_min_score": 0.25,
    "kb_max_context_chars": 2_500,
    "kb_min_evidence": 0.4,
    "kb_doubt_evidence": 0.2,
    "chat_max_tokens": 99,
    "llm_temperature": 0.6,
}


def test_where_no_knob_is_given_the_settings_hold_and_a_knob_changes_itself_alone(settings: Settings) -> None:
    own = settings.with_changes(**KNOBS)
    assert UserContext().over(own) == own
    given = UserContext.defaults(own, source_chars=1_000)
    assert {name: getattr(given, name) for name in KNOBS} == KNOBS
    for name, value in KNOBS.items():
        made = UserContext(**{name: value}).over(settings)  # type: ignore[arg-type]
        same = {"kb_max_context_chars", "kb_large_context_chars"} if name == "kb_max_context_chars" else {name}
        assert {key for key in KNOBS if getattr(made, key) != getattr(settings, key)} <= same
        assert getattr(made, name) == value
