"""Where there is no answer, what stands nearest is shown as what it is: passages, what they lack, what was meant."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chatbot_mvp.chat import nearest
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.chat.grounding import grounding_of
from chatbot_mvp.chat.nearest import MAX_CHARS, MAX_PASSAGES, Nearest, find_nearest
from chatbot_mvp.chat.prompting import no_evidence
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.relevance import MIN_TOPIC, decide, outcome_of
from chatbot_mvp.chat.transcripts import UNSUPPORTED_MARK, answer_text
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace, StageRecord
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE, ChatService, pipeline_of
from tests.fakes import FailingChatModel, FakeChatModel, FakeOutage

NEAR = "¿Cuántos días de vacaciones dan en Mongolia exterior?"
ELSEWHERE = "¿Quién ganó la liga de fútbol del año pasado en el portal de Mongolia?"
"""Its topic is below MIN_TOPIC, but a passage has a word of it."""
ALWAYS_SHORT = UserContext(kb_min_evidence=1.0, kb_doubt_evidence=1.0)
"""No evidence suffices, and no model is asked in doubt."""

MANUAL = """# Manual de la biblioteca

## Préstamo de libros

Cada lector puede llevarse cuatro libros. El préstamo dura tres semanas.

La renovación se pide en el mostrador. También puede pedirse por teléfono.

## Sanciones

Cada día de retraso cuesta quince céntimos por libro.

## Formación de usuarios

La visita guiada a los depósitos se hace los jueves.
"""


@pytest.mark.parametrize("closer", ["mayo", "junio"])
def test_of_passages_with_the_same_words_the_one_closer_by_late_interaction_is_nearest(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, closer: str
) -> None:
    text = "# Cuotas\n\nLa cuota de verano se paga en mayo.\n\nLa cuota de verano se paga en junio.\n"
    monkeypatch.setattr(nearest, "nearness", lambda *_: lambda texts: [(float(closer in one), {}) for one in texts])
    assert closer in nearest_to(text, "¿Cuándo se paga la cuota de verano?", settings).passages[0].chunk.text


def searched(text: str, question: str, settings: Settings) -> tuple[Pipeline, RetrievalTrace]:
    pipeline = pipeline_of(text, settings)
    [trace] = pipeline.retrieve([question])
    return pipeline, trace


def nearest_to(text: str, question: str, settings: Settings) -> Nearest:
    pipeline, trace = searched(text, question, settings)
    return find_nearest(question, trace, pipeline.index, None)


def answered(settings: Settings, model: ChatModel, question: str, context: UserContext) -> Answer:
    return ChatService(model, settings, DemoModel()).ask(pipeline_of(SOURCE, settings), question, context)


# --- the outcome


@pytest.mark.parametrize(
    ("enough", "topic", "outcome"),
    [
        (True, 0.0, "answered"),
        (False, None, "nearest"),
        (False, MIN_TOPIC, "nearest"),
        (False, MIN_TOPIC - 1e-9, "refused"),
        (False, 0.0, "refused"),
    ],
)
def test_only_a_question_without_evidence_about_something_else_is_refused(
    settings: Settings, enough: bool, topic: float | None, outcome: str
) -> None:
    _, trace = searched(SOURCE, INSIDE, settings)
    assert outcome_of(enough, replace(trace, topic=topic)) == outcome


@pytest.mark.parametrize(("threshold", "outcome"), [(0.0, "answered"), (1.0, "refused")])
def test_a_low_topic_refuses_only_what_has_not_enough_evidence(
    settings: Settings, threshold: float, outcome: str
) -> None:
    _, trace = searched(SOURCE, NEAR, settings)
    decision = decide(replace(trace, topic=0.2), NEAR, threshold, 1.0, None, "es")
    assert (decision.outcome, decision.enough) == (outcome, outcome == "answered")


def rated_then_away(request: ChatRequest) -> str:
    if request.grounding is None:
        return "9"
    raise FakeOutage(provider="fake")


def test_without_any_passage_a_question_is_refused_whatever_its_topic() -> None:
    assert outcome_of(False, RetrievalTrace("¿?", topic=1.0)) == "refused"


@pytest.mark.parametrize(
    ("model", "context", "question", "outcome", "why"),
    [
        (DemoModel(), UserContext(), INSIDE, "answered", None),
        (DemoModel(), ALWAYS_SHORT, NEAR, "nearest", "evidence"),
        (DemoModel(), UserContext(), "¿Xqzw kjxv?", "refused", "topic"),
        (FakeChatModel("0"), UserContext(kb_min_evidence=1.0, kb_doubt_evidence=0.0), INSIDE, "nearest", "relevance"),
        (FakeChatModel(no_evidence("es")), UserContext(kb_doubt_evidence=1.0), INSIDE, "nearest", "declined"),
        (FakeChatModel(""), UserContext(kb_doubt_evidence=1.0), INSIDE, "nearest", "declined"),
        (FakeChatModel("Hay un yate. [1]"), UserContext(kb_doubt_evidence=1.0), INSIDE, "nearest", "unsupported"),
        (FakeChatModel("¡Sí! [1]"), UserContext(kb_doubt_evidence=1.0), INSIDE, "nearest", "unsupported"),
        (FailingChatModel(), UserContext(kb_doubt_evidence=1.0), INSIDE, "answered", None),
        (FakeChatModel(rated_then_away), UserContext(kb_doubt_evidence=0.0), ELSEWHERE, "nearest", "evidence"),
    ],
)
def test_each_strict_answer_has_one_outcome_and_a_reason(
    settings: Settings, model: ChatModel, context: UserContext, question: str, outcome: str, why: str | None
) -> None:
    answer = answered(settings, model, question, context)
    assert (answer.outcome, answer.why) == (outcome, why)
    assert (answer.nearest is not None) is (outcome == "nearest")
    assert answer.abstained is (outcome != "answered")
    if answer.abstained:
        assert (answer.text, answer.sources, answer.statements) == (no_evidence("es"), (), ())
        assert not answer.from_kb


def test_one_supported_sentence_keeps_a_strict_answer_with_its_marks(settings: Settings) -> None:
    reply = "Cada persona dispone de 23 días laborables de vacaciones [1]. La empresa regala un yate [1]."
    answer = answered(settings, FakeChatModel(reply), INSIDE, UserContext(kb_doubt_evidence=1.0))
    assert (answer.outcome, [statement.supported for statement in answer.statements]) == ("answered", [True, False])


@pytest.mark.parametrize("reply", ["Hay un yate. [1]", "Mide 330 metros."])
@pytest.mark.parametrize("question", [INSIDE, OUTSIDE])
def test_general_mode_gives_the_models_answer_as_before(settings: Settings, reply: str, question: str) -> None:
    answer = answered(settings, FakeChatModel(reply), question, UserContext("general"))
    assert answer.text.startswith(reply[:8])
    assert (answer.outcome, answer.why, answer.nearest) == ("answered", None, None)


def test_general_mode_shows_no_nearest_passages(settings: Settings) -> None:
    answer = answered(settings, DemoModel(), NEAR, replace(ALWAYS_SHORT, mode="general"))
    assert (answer.abstained, answer.nearest) == (True, None)


def test_a_stopped_answer_stays_as_far_as_it_came(settings: Settings) -> None:
    """Half a sentence cannot be checked, so it is not withheld either."""
    service = ChatService(FakeChatModel("Hay un yate. [1]"), settings, DemoModel())
    stream = service.ask_stream(pipeline_of(SOURCE, settings), INSIDE, UserContext(kb_doubt_evidence=1.0))
    stream.cancel()
    *_, last = stream
    assert (last.answer.outcome, last.answer.why) == ("answered", None)


# --- the passages


def test_a_passage_is_the_best_paragraph_with_its_closest_sentence_marked(settings: Settings) -> None:
    nearest = nearest_to(MANUAL, "¿Cómo se pide la renovación del carné?", settings)
    first = nearest.passages[0]
    assert first.chunk.text == "La renovación se pide en el mostrador. También puede pedirse por teléfono."
    assert MANUAL[first.chunk.start : first.chunk.end] == first.chunk.text
    assert [MANUAL[start:end] for start, end in first.highlights] == ["La renovación se pide en el mostrador."]
    assert first.chunk.section.endswith("Préstamo de libros")


def test_of_sentences_that_are_as_near_the_one_with_the_kind_of_value_asked_for_is_marked(settings: Settings) -> None:
    paid, price = "La entrada de la piscina se paga en la puerta.", "La entrada de la piscina es de 6 euros."
    for text in (f"{paid} {price}", f"{price} {paid}"):
        for question, marked in (("¿Cuánto cuesta la entrada de la piscina?", price), ("¿Y la entrada?", text[:46])):
            source = nearest_to(f"# Piscina\n\n{text}\n", question, settings).passages[0]
            [(start, end)] = source.highlights
            assert source.chunk.text[start - source.chunk.start : end - source.chunk.start] in marked


@pytest.mark.parametrize(
    ("question", "marked"),
    [
        ("¿Qué le pasa al abono de tarde en agosto?", "| Abono de tarde | 12 € |"),
        (
            "¿Qué le pasa al abono en agosto?",
            "| Abono | Precio |\n|---|---|\n| Abono de día | 20 € |\n| Abono de tarde | 12 € |",
        ),
    ],
)
def test_of_a_table_the_row_that_says_most_is_marked(question: str, marked: str, settings: Settings) -> None:
    text = (
        "# Piscina\n\n## Abonos\n\n| Abono | Precio |\n|---|---|\n| Abono de día | 20 € |\n| Abono de tarde | 12 € |\n"
    )
    first = nearest_to(text, question, settings).passages[0]
    assert [
        first.chunk.text[start - first.chunk.start : end - first.chunk.start] for start, end in first.highlights
    ] == [marked]


def test_a_long_paragraph_is_cut_around_its_best_sentence(settings: Settings) -> None:
    filler = " ".join(f"La norma {n} trata de la sala grande." for n in range(40))
    text = f"# Normas\n\n## Salas\n\n{filler} El piano se afina en mayo. {filler}\n\n## Otras\n\nNada más.\n"
    [first, *_] = nearest_to(text, "¿Quién afina el piano?", settings).passages
    assert "El piano se afina en mayo." in first.chunk.text
    assert len(first.chunk.text) <= MAX_CHARS
    assert text[first.chunk.start : first.chunk.end] == first.chunk.text


def test_passages_are_few_distinct_numbered_and_never_a_heading(settings: Settings) -> None:
    parts = "\n\n".join(f"## Sala {n}\n\nEn la sala {n} hay un piano de cola." for n in range(9))
    nearest = nearest_to(f"# Salas\n\n{parts}\n", "¿Cuánto pesa un piano de cola?", settings)
    assert [source.number for source in nearest.passages] == [1, 2, 3]
    assert len(nearest.passages) == MAX_PASSAGES
    texts = [source.chunk.text for source in nearest.passages]
    assert len(set(texts)) == len(texts)
    assert not any(text.startswith("#") for text in texts)


def test_chunks_that_overlap_show_a_paragraph_once(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Cómo se pide la renovación?", settings)
    hits = trace.chunks_final[:1]
    double = replace(hits[0], chunk=replace(hits[0].chunk, chunk_id="other"))
    alone, twice = (
        [source.chunk.text for source in find_nearest("¿?", found, pipeline.index, None).passages]
        for found in (replace(trace, chunks_final=hits), replace(trace, chunks_final=(*hits, double)))
    )
    assert twice == alone
    assert len({*twice}) == len(twice)


def test_one_chunk_may_have_several_of_the_nearest_paragraphs_the_best_first(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Cómo se pide la renovación de cuatro libros?", settings)
    nearest = find_nearest("¿?", replace(trace, chunks_final=trace.chunks_final[:1]), pipeline.index, None)
    texts = [source.chunk.text for source in nearest.passages]
    assert len(texts) == 2
    assert "renovación" in texts[0]
    assert "cuatro libros" in texts[1]


def test_a_list_stands_with_the_line_that_introduces_it(settings: Settings) -> None:
    text = "# Club\n\n## Alta\n\nPara el alta se entregan:\n\n- una copia del DNI\n- dos fotos\n"
    [source] = nearest_to(text, "¿Qué se entrega para el alta?", settings).passages
    assert source.chunk.text == "Para el alta se entregan:\n\n- una copia del DNI\n- dos fotos"


def test_a_title_without_marks_is_no_passage(settings: Settings) -> None:
    text = "Hay dos salas.\n\n1. Taller. Lo lleva Koldo.\n\nObjetos perdidos\n\nLo que se olvida se guarda un mes.\n"
    passages = nearest_to(text, "¿Dónde están los objetos perdidos?", settings).passages
    assert "Objetos perdidos" not in [source.chunk.text for source in passages]


def test_a_passage_far_below_the_best_one_is_not_near(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Cuánto cuesta cada día de retraso?", settings)
    scores = [1.0, 0.05, 0.02]
    hits = tuple(replace(hit, score=score) for hit, score in zip(trace.chunks_final, scores, strict=False))
    assert len(hits) > 1
    assert len(find_nearest("¿?", replace(trace, chunks_final=hits), pipeline.index, None).passages) == 1


def test_a_neighbour_that_stitching_added_is_not_near(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Cuánto cuesta cada día de retraso?", settings)
    added = tuple(hit.chunk.chunk_id for hit in trace.chunks_final[1:])
    found = find_nearest("¿?", replace(trace, chunks_added_by_stitching=added), pipeline.index, None)
    assert len(found.passages) == 1


# --- what they lack, and what was meant


def test_missing_are_the_questions_content_words_as_typed_that_no_passage_has(settings: Settings) -> None:
    nearest = nearest_to(MANUAL, "¿Cuántos LIBROS se lleva un Astronauta sin Carné, astronauta?", settings)
    assert nearest.missing == ("Astronauta", "Carné")
    assert nearest_to(MANUAL, "¿Cuántos libros puede llevarse cada lector?", settings).missing == ()


@pytest.mark.parametrize(
    ("question", "words", "corrected"),
    [
        ("¿Cuánto dura la formacción?", "formación", "¿Cuánto dura la formación?"),
        ("¿Formacción o sansiones?", "Formación sanciones", "¿Formación o sanciones?"),
        # The word that was found is written as in the document, with its accent.
        ("¿Hay renovasión de becas?", "renovación", "¿Hay renovación de becas?"),
    ],
)
def test_a_corrected_word_gives_the_question_with_it(
    settings: Settings, question: str, words: str, corrected: str
) -> None:
    first = nearest_to(MANUAL, question, settings).did_you_mean[0]
    assert (first.kind, first.text, first.question) == ("spelling", words, corrected)


def test_another_number_of_a_word_is_no_misspelling(settings: Settings) -> None:
    text = MANUAL.replace("Sanciones", "¿Qué pasa con las barbacoas?")
    meant = nearest_to(text, "¿Puedo hacer una barbacoa en Mongolia?", settings).did_you_mean
    assert [(one.kind, one.question) for one in meant] == [("heading", "¿Qué pasa con las barbacoas?")]


@pytest.mark.parametrize(
    ("typed", "read"),
    [("prétsamo", "préstamo"), ("livros", "libros"), ("vsita", "visita"), ("retaso", "retraso"), ("coger", "coger")],
)
def test_what_may_be_another_word_is_proven_as_typed(settings: Settings, typed: str, read: str) -> None:
    question = f"¿Cuánto cuesta el {typed}?"
    pipeline, trace = searched(f"{MANUAL}\nNo se puede comer.", question, settings)
    assert trace.expansion_notes
    assert grounding_of(trace, pipeline.index, (), 1.0).question == f"¿Cuánto cuesta el {read}?"


def test_a_heading_that_is_near_gives_a_question_about_it(settings: Settings) -> None:
    suggestions = nearest_to(MANUAL, "¿Qué sanción ponen en Mongolia?", settings).did_you_mean
    assert [(each.kind, each.text, each.question) for each in suggestions] == [
        ("heading", "Sanciones", "¿Qué hay sobre «sanciones»?")
    ]


@pytest.mark.parametrize(
    "question",
    [
        "¿Qué hay sobre sanciones?",
        "¿Qué hay sobre «sanciones»?",
        "¿Cuánto cuesta el retraso?",
        "",
        "🙂",
        "¿Hay biblioteca en Mongolia?",
    ],
)
def test_neither_what_was_asked_nor_what_is_not_near_nor_a_title_is_suggested(
    settings: Settings, question: str
) -> None:
    assert nearest_to(MANUAL, question, settings).did_you_mean == ()


def test_a_correction_of_the_question_before_is_none_of_this_question(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Hay renovasión? ¿Y en verano?", settings)
    assert any("renovación" in note for note in trace.expansion_notes)
    suggestions = find_nearest("¿Y en verano?", trace, pipeline.index, None).did_you_mean
    assert [each for each in suggestions if each.kind == "spelling"] == []


def test_it_says_how_the_question_was_searched(settings: Settings) -> None:
    pipeline, trace = searched(MANUAL, "¿Hay renovasión de becas?", settings)
    found = find_nearest("¿?", trace, pipeline.index, 2.0)
    assert (found.expanded, found.reranked, found.relevance) == (True, False, 2.0)
    reordered = replace(trace, query_expanded="").with_record(StageRecord("rerank", 0.1, {"reranked": True}))
    again = find_nearest("¿?", reordered, pipeline.index, None)
    assert (again.expanded, again.reranked, again.relevance) == (False, True, None)


def test_a_corpus_of_whole_passages_has_nearest_passages_too(settings: Settings) -> None:
    """Such an index knows no headings and no spelling."""
    pipeline, trace = searched(MANUAL, "¿Cuánto cuesta el retraso?", settings)
    found = find_nearest("¿Cuánto cuesta el retrazo?", trace, replace(pipeline.index, kb=None), None)
    assert found.passages
    assert (found.missing, found.did_you_mean) == (("retrazo",), ())


# --- records and text


@pytest.mark.parametrize("mode", ["strict", "general"])
@pytest.mark.parametrize("reply", ["Hay un yate. [1]", "Cada persona dispone de 23 días. [1] Y un yate. [1]"])
def test_a_record_keeps_outcome_reason_and_passages(settings: Settings, mode: Mode, reply: str) -> None:
    answer = answered(settings, FakeChatModel(reply), INSIDE, UserContext(mode))
    record = record_of(answer)
    again = AnswerRecord.from_json(json.loads(json.dumps(record.as_json())))
    assert again == record
    assert (again.outcome, again.why, again.nearest) == (answer.outcome, answer.why, answer.nearest)
    withheld = answer.why == "unsupported"
    assert (record.debug["withheld"] == reply) is withheld
    assert (reply in json.dumps(record.as_reply(), ensure_ascii=False)) is False or not withheld


@pytest.mark.parametrize(
    ("language", "said"),
    [("es", ("(no es una respuesta)", "Reformule su pregunta")), ("en", ("(not an answer)", "Rephrase your question"))],
)
def test_the_text_without_an_answer_is_the_fixed_reply_and_then_what_is_near(
    settings: Settings, language: str, said: tuple[str, ...]
) -> None:
    answer = answered(settings, DemoModel(), NEAR, replace(ALWAYS_SHORT, language=language))
    first, rest = answer_text(record_of(answer), language).split("\n\n", 1)
    assert first == no_evidence(language)
    for part in (*said, "Cada persona dispone", "«Mongolia»", "¿Qué hay sobre «vacaciones»?"):
        assert part in rest


def test_the_text_of_an_answer_marks_what_no_source_supports(settings: Settings) -> None:
    reply = "Cada persona dispone de 23 días laborables de vacaciones [1]. La empresa regala un yate [1]."
    answer = answered(settings, FakeChatModel(reply), INSIDE, UserContext(kb_doubt_evidence=1.0))
    first, legend, source, quality = answer_text(record_of(answer), "es").splitlines()
    assert quality.startswith("Calidad: evidencia 0,")
    assert "pregunta ampliada: no · pasajes reordenados: no · modelo fake · " in quality
    assert first == f"{reply[: reply.rindex(' [1]')]} {UNSUPPORTED_MARK} [1]."
    assert (legend, source[:3]) == (f"{UNSUPPORTED_MARK} Sin respaldo en la fuente citada", "[1]")
