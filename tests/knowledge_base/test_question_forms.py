"""Sentences and headings become questions as people ask them; what would be half a question becomes none."""

from __future__ import annotations

import pytest

from chatbot_mvp.knowledge_base.question_forms import heading_as_question, question_about, questions_in


@pytest.mark.parametrize(
    ("sentence", "language", "question"),
    [
        ("El carné caduca a los dos años.", "es", "¿Cuándo caduca el carné?"),
        ("La matrícula cuesta 25 euros.", "es", "¿Cuánto cuesta la matrícula?"),
        ("Los libros se devuelven en el mostrador.", "es", "¿Cómo se devuelven los libros?"),
        ("No se admiten perros.", "es", "¿Se admiten perros?"),
        ("No aceptamos cheques.", "es", "¿Aceptan cheques?"),
        ("Si hay tormenta, la piscina se cierra.", "es", "¿Qué pasa si hay tormenta?"),
        ("El último día se entregan el portátil y la tarjeta.", "es", ""),  # the day is not what is handed over
        ("Se puede pedir un anticipo de hasta el 50 % de la nómina.", "es", ""),
        ("Se puede llamar los martes de 19:00 a 20:00.", "es", ""),
        ("Este plazo se cuenta desde el aviso.", "es", ""),
        ("Las piezas que miden más de 40 cm pagan 6 euros.", "es", ""),  # a part of a sentence is no question
        ("Las entradas son gratuitas y se recogen en la taquilla.", "es", ""),  # what is said of them twice is no name
        ("You can keep up to six hens.", "en", "Can I keep up to six hens?"),
        ("The annual meeting is in the hall.", "en", "Where is the annual meeting?"),
        ("Las sanciones las decide la junta.", "es", "¿Quién decide las sanciones?"),
        ("The shop opens at ten.", "en", "When does the shop open?"),
    ],
)
def test_a_sentence_becomes_the_question_that_it_answers(sentence: str, language: str, question: str) -> None:
    assert question_about(sentence, language) == question


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Quién puede entrar", "¿Quién puede entrar?"),
        ("Lo que tenemos que saber", "¿Qué tienen que saber?"),
        ("Precio", "¿Cuál es el precio?"),
        ("Notas de la reunión", ""),
    ],
)
def test_a_heading_that_is_nearly_a_question_becomes_one(heading: str, question: str) -> None:
    assert heading_as_question(heading, "es") == question


def test_the_questions_that_a_text_asks_itself_come_first() -> None:
    body = "La cuota cuesta 30 euros.\n\n**¿Puedo aparcar cerca?** Sí, en la plaza."
    assert next(questions_in(body, "es")) == "¿Puedo aparcar cerca?"
