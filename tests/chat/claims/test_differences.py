"""What a sentence says otherwise than its passage is named; what it says in other words is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.chat.claims.comparison import Difference
from chatbot_mvp.chat.verification import Statement, verify
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk
from tests.processor import reference_seconds

SPANISH = (
    "La biblioteca de Arroyal abre de lunes a viernes hasta las 20:00. No se prestan diccionarios. Cada socio puede "
    "llevarse 5 libros durante dos semanas, salvo en agosto. La dirige Elena Murga y el bibliotecario es Pablo Serna. "
    "Todas las salas tienen calefacción. La sala norte es más grande que la de lectura. La multa es de 1.200 euros."
)
ENGLISH = (
    "The ferry leaves Port Hallam every morning at 7:30 and takes 45 minutes. Dogs are not allowed on the upper deck. "
    "A ticket costs 12 pounds a day. Nora Finch steers the ferry. The old ferry was slower than the new one. At least "
    "20 passengers are needed. All cabins have a window."
)


def checked(text: str, language: str) -> Statement:
    passage = SPANISH if language == "es" else ENGLISH
    [found] = verify(f"{text} [1]", [Chunk("a", "d", "", passage, 0, len(passage))], Analyzer(language), lambda _: 1.0)
    return found


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("es", "Se prestan diccionarios.", Difference("negation", "", "prestan")),
        ("es", "La biblioteca de Arroyal no abre de lunes a viernes.", Difference("negation", "abre", "")),
        ("en", "Dogs are allowed on the upper deck.", Difference("negation", "", "allowed")),
        ("en", "Nora Finch never steers the ferry.", Difference("negation", "steers", "")),
        ("es", "Cada socio puede llevarse 6 libros durante dos semanas.", Difference("figure", "6 libros", "5 libros")),
        ("es", "Cada socio puede llevarse 5 libros durante dos meses.",
         Difference("figure", "dos meses", "dos semanas")),
        ("en", "The ferry takes 45 hours.", Difference("figure", "45 hours", "45 minutes")),
        ("es", "La multa es de 1.300 euros.", Difference("figure", "1.300 euros", "1.200 euros")),
        ("es", "La dirige Marta Murga.", Difference("name", "Marta", "")),
        ("en", "The ferry leaves Port Wexford every morning.", Difference("name", "Wexford", "")),
        ("es", "La biblioteca abre de lunes a sábado.", Difference("date", "sábado", "lunes")),
    ],
)  # fmt: skip
def test_what_differs_is_named(language: str, text: str, expected: Difference) -> None:
    found = checked(text, language)
    assert not found.supported
    assert found.differences[0] == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "Cada socio puede llevarse cinco libros durante 14 días."),
        ("es", "Está prohibido prestar diccionarios."),
        ("es", "La multa es de 1200 €."),
        ("es", "La biblioteca abre hasta las ocho de la tarde."),
        ("es", "Elena Murga dirige la biblioteca."),
        ("en", "It is forbidden to take dogs on the upper deck."),
        ("en", "The ferry takes three quarters of an hour."),
        ("en", "A minimum of twenty passengers is needed."),
        ("en", "A ticket costs £12 a day."),
    ],
)  # fmt: skip
def test_what_is_said_in_other_words_is_no_difference(language: str, text: str) -> None:
    assert checked(text, language).differences == ()


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("El paquete pesa 5 g.", "El paquete pesa 5 kg."),
        ("La puerta mide 2 centímetros de alto.", "La puerta mide 2 metros de alto."),
        ("Abre a las 8 de la tarde.", "Abre a las 8 de la mañana."),
        ("La sesión empieza a las cinco y cuarto.", "La sesión empieza a las cinco y media."),
        ("El presupuesto es de dos mil euros.", "El presupuesto es de dos millones de euros."),
        ("Luis Ruiz presenta la solicitud de ayudas.", "Ana Ruiz presenta la solicitud de ayudas."),
    ],
)
def test_the_same_figure_in_another_unit_and_another_person_are_not_supported(said: str, source: str) -> None:
    [found] = verify(f"{said} [1]", [Chunk("a", "d", "", source, 0, len(source))], Analyzer("es"), lambda _: 1.0)
    assert not found.supported


def test_a_name_of_another_passage_that_is_cited_too_is_no_difference() -> None:
    texts = ("El faro lo dirige Elena Murga.", "El faro abre a las 9:00.")
    chunks = [Chunk(str(at), "d", "", text, 0, len(text)) for at, text in enumerate(texts)]
    [found] = verify("Elena Murga dirige el faro, que abre a las 9:00. [1] [2]", chunks, Analyzer("es"), lambda _: 1.0)
    assert found.differences == ()


@given(st.text(max_size=80), st.text(max_size=80) | st.text(alphabet="No se 12.:/-%€ªº un dos", max_size=80))
def test_any_two_texts_can_be_compared(answer: str, passage: str) -> None:
    for language in ("es", "en"):
        for one in verify(answer, [Chunk("a", "d", passage[:9], passage, 0, len(passage))], Analyzer(language), len):
            assert 0.0 <= one.score <= 1.0


def test_a_hostile_text_takes_no_longer_than_its_length() -> None:
    def seconds(words: int) -> float:
        text = "no Ana 12 días más que Luis " * (words // 7)
        started = time.process_time()
        verify(text, [Chunk("a", "d", "", text, 0, len(text))], Analyzer("es"), lambda _: 1.0)
        return time.process_time() - started

    seconds(700)
    assert seconds(14_000) < 30 * max(seconds(1_400), 0.01)


def test_a_sentence_is_checked_within_five_milliseconds() -> None:
    passage = " ".join([SPANISH] * 3)  # as long as a chunk
    answer = "Cada socio puede llevarse 6 libros durante dos semanas, salvo en agosto. [1]\n\n" * 40
    chunks = [Chunk("a", "d", "", passage, 0, len(passage))]
    started = time.process_time()
    found = verify(answer, chunks, Analyzer("es"), lambda _: 1.0)
    assert len(found) == 40
    assert reference_seconds(time.process_time() - started) / len(found) < 0.005


@pytest.mark.parametrize("code", ["01.234.567-L", "00.123.456,78", "0.000.000", "01,234.56", "0.123,5", "0,123,456"])
def test_a_code_of_groups_of_digits_that_begins_with_0_is_no_number(code: str) -> None:
    text = f"El DNI de Ana es {code}. La cuota es de 30 euros."
    passage = Chunk("a", "d", "", text, 0, len(text))
    for said in ("La cuota es de 30 euros.", f"El DNI de Ana es {code}."):
        [found] = verify(f"{said} [1]", [passage], Analyzer("es"), lambda _: 1.0)
        assert found.supported
