"""A misspelt word finds the word it means, and another word of the language finds nothing."""

from __future__ import annotations

import pytest

from chatbot_mvp.retrieval.kb.spelling import Spellings, sound_key

ES = """vacaciones teletrabajo contrasena llave taquilla horario anticipo vaporizador descalcificacion garajes tiques
reembolso enviar extranjero cambio guerra gasto gastos obras responsable curriculo quedan pasar accion""".split()
EN = "annual length warranty guarantee salary advance temperature harassment knife photograph schedule".split()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("vacasiones", "vacaciones"),
        ("bacaciones", "vacaciones"),
        ("teletrabjo", "teletrabajo"),
        ("teletrbaajo", "teletrabajo"),
        ("contrasenya", "contrasena"),
        ("yave", "llave"),
        ("taquiya", "taquilla"),
        ("orario", "horario"),
        ("antisipo", "anticipo"),
        ("baporisador", "vaporizador"),
        ("descalsificasion", "descalcificacion"),
        ("garages", "garajes"),
        ("tikes", "tiques"),
        ("rembolso", "reembolso"),
        ("embiar", "enviar"),
        ("estranjero", "extranjero"),
        ("canbio", "cambio"),
        ("gerra", "guerra"),
        ("gsato", "gasto"),
        ("gastis", "gastos"),
        ("responsavlr", "responsable"),
        ("qeudan", "quedan"),
        ("ora", None),
        ("acsion", "accion"),
        ("bacasions", "vacaciones"),
    ],
)
def test_spanish_errors_of_hand_and_ear(typed: str, meant: str | None) -> None:
    assert Spellings(ES, "es").nearest(typed) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("anual", "annual"),
        ("lenght", "length"),
        ("waranty", "warranty"),
        ("guarentee", "guarantee"),
        ("salery", "salary"),
        ("advanse", "advance"),
        ("temprature", "temperature"),
        ("harrasment", "harassment"),
        ("nife", "knife"),
        ("fotograph", "photograph"),
        ("shedule", "schedule"),
    ],
)
def test_english_errors_of_hand_and_ear(typed: str, meant: str) -> None:
    assert Spellings(EN, "en").nearest(typed) == meant


@pytest.mark.parametrize("word", ["pagar", "zanahoria", "dja", "gatos2", "ab", "", "guardar", "hola", "horas"])
def test_another_word_is_not_taken_for_a_misspelt_one(word: str) -> None:
    assert Spellings(ES, "es").nearest(word) is None


def test_of_equally_similar_words_the_frequent_one_wins() -> None:
    counts = {"canto": 1, "cano": 9, "cantor": 5}
    assert Spellings(counts, "es", counts.__getitem__).nearest("cantoo") == "canto"
    assert Spellings(["pasta", "pasto"], "es", {"pasta": 1, "pasto": 2}.__getitem__).nearest("past") is None
    assert Spellings(["costas", "costos"], "es", {"costas": 1, "costos": 2}.__getitem__).nearest("costs") == "costos"


def test_words_of_equal_sound_share_a_key() -> None:
    assert sound_key("hechizo", "es") == sound_key("echiso", "es")
    assert sound_key("queso", "es") == sound_key("keso", "es")
    assert sound_key("gato", "es") != sound_key("jato", "es")
    assert sound_key("caro", "es") == sound_key("carro", "es")
