"""What becomes a term, where it stands, and where a sentence ends."""

from __future__ import annotations

import re
import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.text import LANGUAGES, STOP_WORDS, Analyzer, detect_language, fold, normalize, sentences
from chatbot_mvp.types import Document
from tests.processor import reference_seconds

ANY_TEXT = st.text(max_size=400)
SENTENCE_LIKE = st.text(alphabet='.!?…»)"\n \t-*1)#aÉSr', max_size=200)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ñandú", "nandu"),
        ("ÁÉÍÓÚÜ", "aeiouu"),
        ("vacacio\u0301n", "vacacion"),
        ("Straße", "strasse"),
        ("ﬁn", "fin"),
        ("年 42", "年 42"),
        ("", ""),
    ],
)
def test_fold_lowers_the_case_and_drops_accents(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("es", "vacación", "vacaciones"),
        ("es", "educación", "educar"),
        ("es", "SOLICITUDES", "solicitud"),
        ("es", "trabajaba", "trabajar"),
        ("es", "puente", "Puentes"),
        ("en", "vacation", "Vacations"),
        ("en", "connected", "connection"),
        ("en", "company’s", "companies"),
        ("en", "Orzama's", "Orzama"),
    ],
)
def test_forms_of_one_word_are_one_term(language: str, one: str, other: str) -> None:
    analyzer = Analyzer(language)
    assert analyzer.terms(one) == analyzer.terms(other) != []


@pytest.mark.parametrize(
    ("language", "one", "other"), [("es", "presa", "prenda"), ("es", "puente", "puerto"), ("en", "bridge", "bride")]
)
def test_different_words_stay_different_terms(language: str, one: str, other: str) -> None:
    analyzer = Analyzer(language)
    assert analyzer.terms(one) != analyzer.terms(other)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_stop_word_is_a_term(language: str) -> None:
    analyzer = Analyzer(language)
    assert {word for word in STOP_WORDS[language] if analyzer.terms(word) or analyzer.terms(word.upper())} == set()


@pytest.mark.parametrize("word", ["qué", "Según", "está", "MÁS", "él", "También"])
def test_an_accent_does_not_hide_a_stop_word(word: str) -> None:
    assert Analyzer("es").terms(word) == []


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("¿Cuántos días?", ["dia"]),
        ("El perro y el gato", ["perr", "gat"]),
        ("VAC-01, 23 km", ["vac", "01", "23", "km"]),
        ("snake_case", ["snak", "cas"]),
        ("¡¿ … — 🙂 ?!", []),
        ("", []),
    ],
)
def test_terms_are_stemmed_words_in_order(text: str, terms: list[str]) -> None:
    assert Analyzer("es").terms(text) == terms


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=ANY_TEXT)
def test_a_term_is_one_word_of_any_text(language: str, text: str) -> None:
    assert all(term and not any(char.isspace() for char in term) for term in Analyzer(language).terms(text))


def test_a_text_with_accents_apart_has_the_same_terms() -> None:
    """As files from some systems have them: the letter, then its accent."""
    text = "La vacación de Íñigo"
    assert Analyzer("es").terms(unicodedata.normalize("NFD", text)) == Analyzer("es").terms(text)


def test_short_plurals_meet_their_singular() -> None:
    assert Analyzer("es").terms("día mes") == Analyzer("es").terms("días meses")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Vacaciones\nCada persona dispone de 23 días.", ["## Vacaciones", "Cada persona dispone de 23 días."]),
        ("1. Abrir la puerta.\n2. Cerrarla.", ["1. Abrir la puerta.", "2. Cerrarla."]),
    ],
    ids=["heading", "numbered list"],
)
def test_a_heading_is_a_sentence_of_its_own_and_a_number_is_none(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "text", ["." * 200_000, ". " * 100_000, "# a" + " " * 100_000 + "b#", "!?" * 100_000 + '"' * 1_000]
)
def test_time_grows_with_the_length_of_a_text_and_not_with_its_square(text: str) -> None:
    started = time.process_time()
    chunk_document(Document("d", "d", text))
    sentences(text)
    assert reference_seconds(time.process_time() - started) < 5  # a square would take minutes


def test_an_unknown_language_is_analysed_as_english() -> None:
    assert Analyzer("xx").key == Analyzer("en").key
    assert Analyzer("xx").terms("the connections") == Analyzer("en").terms("the connections")


def test_languages_have_different_keys_so_their_indexes_are_kept_apart() -> None:
    assert Analyzer("es").key != Analyzer("en").key


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("La solicitud se presenta en el portal con una antelación mínima de 30 días.", "es"),
        ("The request is made in the portal at least 30 days before it.", "en"),
        ("", "es"),
        ("42 %", "es"),
    ],
)
def test_the_language_is_that_of_the_stop_words(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Uno. Dos. Tres.", ["Uno.", "Dos.", "Tres."]),
        ("¿Sí? ¡No! Quizá…  Fin", ["¿Sí?", "¡No!", "Quizá…", "Fin"]),
        ("Dijo «basta.» Y salió.", ["Dijo «basta.»", "Y salió."]),
        ("El Sr. Pérez llegó. Se fue.", ["El Sr. Pérez llegó.", "Se fue."]),
        ("Según el art. 5 de la ley. Fin.", ["Según el art. 5 de la ley.", "Fin."]),
        ("J. R. Tolkien nació. Murió.", ["J. R. Tolkien nació.", "Murió."]),
        ("Mide 3.14 metros. Pesa 1.000 kg.", ["Mide 3.14 metros.", "Pesa 1.000 kg."]),
        ("Hay dos:\n- uno\n- dos\n", ["Hay dos:", "- uno", "- dos"]),
        ("Pasos\n1) Abrir\n2) Cerrar.", ["Pasos", "1) Abrir", "2) Cerrar."]),
        ("Primer párrafo\n\nsegundo\n \n tercero", ["Primer párrafo", "segundo", "tercero"]),
        (
            "Cuotas del mes:\n\nAdultos .......... 51 euros\nCoro . . . . . gratis\nBanda……… 20 euros. Fin....\nY más.",
            [
                "Cuotas del mes:",
                "Adultos .......... 51 euros",
                "Coro . . . . . gratis",
                "Banda……… 20 euros. Fin....",
                "Y más.",
            ],
        ),
        ("Una línea\nque sigue. Otra.", ["Una línea\nque sigue.", "Otra."]),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@given(ANY_TEXT | SENTENCE_LIKE)
def test_sentences_of_any_text_are_ordered_trimmed_and_lose_nothing(text: str) -> None:
    spans = sentences(text)
    behind = 0
    for start, end in spans:
        assert behind <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert not text[behind:start].strip()
        behind = end
    assert not text[behind:].strip()


def test_any_number_of_heading_lines_are_sentences_of_their_own() -> None:
    text = "# uno\n" * 3_000 + "Fin del texto"
    assert len(sentences(text)) == 3_001
    assert sentences("# a\n## b \n c") == [(0, 3), (4, 9), (11, 12)]


def test_a_run_of_combining_marks_is_cut_and_takes_no_time() -> None:
    assert normalize("NFC", "n\u0303" * 50) == "ñ" * 50
    assert normalize("NFC", "a" + "\u0327\u0301" * 40_000 + "b") == normalize("NFC", "a" + "\u0327\u0301" * 15 + "b")
    assert normalize("NFC", "☀" * 100 + "é") == "☀" * 100 + "é"
    assert fold("a" + "\u0327\u0301" * 40_000) == "a"


@given(
    st.text(
        st.sampled_from("aeA…ﬁ☀ñ 1\u0301\u0303\u0327\u1100\u1161\u11a8가ｶ\uff9e\uffa1\uffc2\u09c7\u09be"), max_size=60
    ),
    st.sampled_from(["NFC", "NFKC", "NFKD"]),
    st.integers(1, 9),
)
def test_a_text_is_normalised_in_pieces_as_it_is_whole(text: str, form: Any, piece: int) -> None:
    text = re.sub("([\u0301\u0303\u0327]{8})[\u0301\u0303\u0327]*", r"\1", text)  # of more in a row some are dropped
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("chatbot_mvp.text._PIECE", piece)
        assert normalize(form, text) == unicodedata.normalize(form, text)
