"""Questions of people: read from what they write or say, searched, decided by a person, and counted apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.own_questions import MOST, reference_in, spoken_questions
from chatbot_mvp.settings.model import load_settings

TEXT = """# Normas

## Cuotas

La inscripción cuesta 60 euros y se paga una sola vez.

## Barcos

Cada reserva dura noventa minutos y se hace en la aplicación.
"""


@pytest.fixture
def app(tmp_path: Path, clean_env: None) -> App:
    return build_app(load_settings(data_dir=tmp_path, provider="demo", retrieval_strategy="LEXICAL"))


@pytest.mark.parametrize(
    ("said", "questions"),
    [
        ("¿Cuánto cuesta?\n\n¿cuánto  CUESTA?", ["¿Cuánto cuesta?"]),
        ("- cuánto dura una clase\n2. ¿Hay piscina?", ["cuánto dura una clase", "¿Hay piscina?"]),
        (
            "10:32 Ana: Hola. Me apunté ayer. ¿Cuándo me cobran? Y si me lesiono, ¿puedo parar la cuota? gracias",
            ["¿Cuándo me cobran?", "Y si me lesiono, ¿puedo parar la cuota?"],
        ),
        ("How long is it? I wonder. Can I cancel?", ["How long is it?", "Can I cancel?"]),
        ("hola", []),
    ],
)
def test_questions_are_read_as_people_write_or_say_them(said: str, questions: list[str]) -> None:
    assert spoken_questions(said) == questions


def test_no_more_questions_are_taken_than_search_is_asked_at_once() -> None:
    assert len(spoken_questions("\n".join(f"pregunta número {row}" for row in range(3 * MOST)))) == MOST


@pytest.mark.parametrize(
    ("question", "passage", "answer"),
    [
        ("¿Cuánto cuesta la inscripción?", "La inscripción cuesta 60 euros y se paga una vez.", "60 euros"),
        ("¿Cuánto cuesta la inscripción?", "Adultos 42 euros, jóvenes 27 euros.", ""),
        ("¿Qué descuento hay?", "Un descuento del 15 % en todas las cuotas.", "15 %"),
        ("¿A qué teléfono llamo?", "Llame al 644 018 332, a cualquier hora.", "644 018 332"),
        ("¿Quién manda?", "Manda la presidenta.", ""),
    ],
)
def test_a_short_answer_is_the_one_value_that_the_question_asks_for(question: str, passage: str, answer: str) -> None:
    assert reference_in(question, passage) == answer


def test_what_a_person_decides_is_measured_and_proposals_stay_apart(app: App) -> None:
    """The headline counts people's questions alone: one right, one rightly not answered, and none of the rules."""
    kb = app.kbs.add("normas.md", TEXT.encode())
    asked, absent = "¿Cuánto cuesta la inscripción?", "¿Hay piscina climatizada?"
    found = {one.question: one for one in app.own_questions.find(kb.kb_id, [asked, absent])}
    assert found[asked].passages[0].chunk.text == "La inscripción cuesta 60 euros y se paga una sola vez."
    kept = app.own_questions.keep(kb.kb_id, "mías", {asked: found[asked].passages[0], absent: None})
    assert [(one.question.kind, one.question.answers) for one in kept.questions] == [
        ("answerable", ("60 euros",)),
        ("near", ()),
    ]
    rules = app.kb_evaluation.propose_now(kb.kb_id, 12)
    both = app.question_sets.save(kept.with_added(rules.questions))
    result = app.kb_evaluation.result(kb.kb_id, app.kb_evaluation.evaluate(kb.kb_id, both.set_id)["run_id"])
    own, proposed = result.part(own=True), result.part(own=False)
    assert own.strict.outcomes.keys() == {one.question.question_id for one in kept.questions}
    assert (own.strict.right.count, own.strict.right.total) == (2, 2)
    assert len(proposed.rows) == len(both.questions) - len(kept.questions) > 0


def test_an_answer_decided_again_takes_the_place_of_the_one_before(app: App) -> None:
    kb = app.kbs.add("normas.md", TEXT.encode())
    [found] = app.own_questions.find(kb.kb_id, ["¿Cuánto dura una reserva?"])
    app.own_questions.keep(kb.kb_id, "mías", {found.question: None, "¿Hay piscina?": None})
    kept = app.own_questions.keep(kb.kb_id, "mías", {found.question: found.passages[0]})
    assert [(one.question.kind, one.origin) for one in kept.questions] == [("answerable", "person"), ("near", "person")]
    assert len(app.question_sets.sets(kb.kb_id)) == 1


def test_the_order_of_the_passages_depends_on_their_texts_alone(app: App) -> None:
    kb = app.kbs.add("normas.md", TEXT.encode())
    [one] = app.own_questions.find(kb.kb_id, ["¿Cuánto cuesta la inscripción y cuánto dura cada reserva?"])
    assert len(one.passages) == 2
    for passages in (one.passages, one.passages[::-1]):  # whichever search puts first
        assert replace(one, passages=passages).shuffled == one.shuffled
    assert set(one.shuffled) == set(one.passages)


def test_words_of_the_document_name_its_paragraph(app: App) -> None:
    kb = app.kbs.add("normas.md", TEXT.encode())
    found = app.own_questions.passage_with(kb.kb_id, "  noventa\nMINUTOS ")
    assert found is not None
    assert found.chunk.text == "Cada reserva dura noventa minutos y se hace en la aplicación."
    [(start, end)] = found.highlights
    assert TEXT[start:end] == "noventa minutos"
    assert app.own_questions.passage_with(kb.kb_id, "noventa horas") is None
    marked = app.kbs.add(
        "salas.md",
        "# Salas\n\n- **Sala Encina**: 14 personas\n\n| Sala | Precio |\n|---|---|\n| Roble | 9 € |\n".encode(),
    )
    for words in (
        "Sala Encina: 14 personas",
        "**Sala Encina**: 14",
        "Roble 9 €",
        "| Roble | 9 € |",
    ):  # as a page shows it
        assert app.own_questions.passage_with(marked.kb_id, words) is not None, words
    assert app.own_questions.passage_with(kb.kb_id, " ") is None
