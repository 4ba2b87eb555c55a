"""Several questions in one message are answered one by one: all of them, or none has a tick."""

from __future__ import annotations

import pytest

from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.chat.two_in_one import questions_of
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import PastTurn
from tests.chat.conftest import pipeline_of

SOURCE = """# Vacaciones

Cada persona dispone de 23 días laborables de vacaciones. La solicitud se envía al portal de personal.

# Dietas

La dieta de jornada completa es de 48 euros. La media dieta es de 20 euros.

# Aparcamiento

El aparcamiento del sótano abre a las 7 de la mañana.
"""
DAYS, DIET = "¿Cuántos días de vacaciones hay", "cuánto es la dieta de jornada completa?"


def answered(settings: Settings, question: str, history: tuple[PastTurn, ...] = ()) -> AnswerRecord:
    quotes = DemoModel()
    asked = (pipeline_of(SOURCE, settings), question, UserContext(), history)
    return record_of(finished(AnswerStream(*asked, model=quotes, fallback=quotes, settings=settings)))


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (f"{DAYS} y {DIET}", 2),
        (f"{DAYS}? ¿{DIET.capitalize()}", 2),
        (f"{DAYS}? ¿Y {DIET}", 2),
        ("Where do I send the request, and how many days of holidays are there?", 2),
        ("¿Puedo llevar a mi perro al camping y cuánto cuesta la entrada de adultos?", 2),
        ("¿Qué días abre el aparcamiento y cuándo cierra?", 2),  # of what it closes stands in the other
        ("¿Cuánto cuesta y a qué hora abre la piscina de Lugo?", 2),
        ("¿De dónde y cuándo salen los autobuses?", 2),
        ("cuanto cuesta la matricula y cuanto el bono de 10 entradas", 2),
        ("¿Abre los lunes y cuando hay fiesta?", 0),  # no question
        ("¿Cuánto cuestan la entrada y el guardarropa?", 0),
        ("Me apunté ayer y no sé cuándo pago la cuota", 0),
        ("¿Quién decide cómo y cuándo se paga la dieta completa?", 0),
        ("El sótano y cuándo abre el aparcamiento", 0),
    ],
)
def test_only_questions_that_stand_alone_are_told_apart(message: str, parts: int) -> None:
    assert len(questions_of(message, Analyzer("en" if "request" in message else "es"))) == parts


def test_what_one_of_them_names_is_asked_of_both() -> None:
    asked = questions_of("¿Cuánto cuesta y a qué hora abre la piscina de Lugo?", Analyzer("es"))
    assert asked == ("Cuánto cuesta la piscina de Lugo?", "a qué hora abre la piscina de Lugo?")


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("¿Dónde y cuándo es la feria?", ("Dónde es la feria?", "cuándo es la feria?")),
        ("quien es el presidente y quien la tesorera", ("quien es el presidente?", "quien es la tesorera?")),
        ("a qué hora abre el bar y a qué hora la sala", ("a qué hora abre el bar?", "a qué hora abre la sala?")),
    ],
)
def test_what_one_of_them_leaves_out_is_in_the_other(message: str, parts: tuple[str, ...]) -> None:
    assert questions_of(message, Analyzer("es")) == parts


def test_both_are_answered_each_from_its_own_passage(settings: Settings) -> None:
    answer = answered(settings, f"{DAYS} y {DIET}")
    assert answer.outcome == "answered" and answer.tick
    assert "23 días" in answer.text and "48 euros" in answer.text and "20 euros" not in answer.text
    assert len(answer.sources) == 2


@pytest.mark.parametrize("other", ["cuánto se paga por kilómetro en coche propio?", "quién aprueba la dieta completa?"])
def test_one_that_is_not_answered_leaves_both_without_a_tick(settings: Settings, other: str) -> None:
    answer = answered(settings, f"{DAYS} y {other}")
    assert answer.outcome == "nearest" and not answer.tick


def test_the_question_before_is_not_answered_again(settings: Settings) -> None:
    before = PastTurn(f"{DAYS}?", "Cada persona dispone de 23 días laborables de vacaciones. [1]")
    assert "23 días" not in answered(settings, f"¿Y {DIET}", (before,)).text
