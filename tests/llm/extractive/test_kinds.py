"""The question word says what kind of answer is wanted, wherever it stands."""

from __future__ import annotations

import pytest

from chatbot_mvp.llm.extractive.kinds import Fit, asked
from chatbot_mvp.llm.extractive.reader import Reader


@pytest.mark.parametrize(
    ("language", "question", "kind"),
    [
        ("es", "¿Quién escribió la carta?", "who"),
        ("es", "quien firma los permisos", "who"),
        ("es", "¿En qué año cerró la mina?", "when"),
        ("es", "¿Hasta cuándo puedo apuntarme?", "when"),
        ("es", "¿A qué hora abre?", "when"),
        ("es", "Llevo once años aquí, ¿cuántos días me tocan?", "number"),
        ("es", "¿En qué ciudad se imprimió?", "where"),
        ("es", "¿Dónde dejo las llaves?", "where"),
        ("es", "¿Por qué suena la alarma?", "why"),
        ("es", "me he equivocado de clave, cómo la cambio", "how"),
        ("es", "¿Qué instrumento tocaba?", "what"),
        ("es", "¿Se puede aparcar dentro?", "yes_no"),
        ("es", "permisos de verano", ""),
        ("en", "Who wrote the letter?", "who"),
        ("en", "The mine that closed in May was opened in what year?", "when"),
        ("en", "How many days do I get?", "number"),
        ("en", "In which city was the man who wrote it born?", "where"),
        ("en", "Why does the alarm ring?", "why"),
        ("en", "How do I change the key?", "how"),
        ("en", "Is the office open on Sundays?", "yes_no"),
        ("en", "The founder is a friend of which singer?", "what"),
    ],
)
def test_the_kind_of_answer_follows_from_the_question_word(language: str, question: str, kind: str) -> None:
    assert asked(question, Reader(language)).kind == kind


@pytest.mark.parametrize(
    "question", ["What is the default of the timer?", "what's the default?", "What’s the default?"]
)
def test_a_contraction_is_not_what_is_asked_for(question: str) -> None:
    assert asked(question, Reader("en")).noun == "default"


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        ("¿Cuántos hijos tuvo?", "Tuvo siete hijos.", "Vivió 40 años en la sierra."),
        ("¿Cuántos años pasó allí en 1990?", "Pasó allí tres años.", "Llegó allí en 1990."),
        ("¿Quién dirigió la obra?", "La obra fue de Amalia Restoy.", "La obra duró dos inviernos."),
        ("¿Dónde nació Amalia Restoy?", "Nació en Soria.", "Amalia Restoy nació tarde."),
        ("¿Dónde se guarda el barro?", "Se guarda en el armario.", "Se guarda en silencio."),
        ("¿Dónde se guarda el barro?", "Se guarda junto a la pila.", "Se guarda en el invierno."),
        ("¿Dónde se guarda el barro?", "Está debajo de una mesa.", "Hay restos en el barro."),
    ],
)
def test_a_text_fits_better_if_it_offers_what_the_question_lacks(question: str, better: str, worse: str) -> None:
    reader = Reader("es")
    fit = Fit(asked(question, reader), question, reader)
    assert fit(better) > fit(worse)


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("es", "¿Qué torre es más alta, la Norte o la Sur?"),
        ("es", "¿Nacieron los dos en la misma villa?"),
        ("en", "Which tower is older, North or South?"),
        ("en", "Are both towers made of stone?"),
    ],
)
def test_a_comparison_is_recognised(language: str, question: str) -> None:
    assert asked(question, Reader(language)).either
