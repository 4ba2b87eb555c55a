"""A passage is split into what can be quoted, at its own structure, with offsets that hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.llm.extractive.proof import MAX_CHARS
from chatbot_mvp.llm.extractive.units import units_of

PIECES = st.sampled_from(
    [
        *("# Título\n", "\n", "\n\n", "- uno\n", "  sigue\n", "1. paso.\n", "| a | b |\n", "| --- | --- |\n", "```\n"),
        *("Una frase. ", "¿Una pregunta? ", "Lo siguiente:\n", "texto ", "|\n", "#", "-", "*"),
    ]
)


def texts(text: str) -> list[str]:
    return [unit.text for unit in units_of(text, 0)]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("# Horario\n\nAbre a las nueve. Cierra a las dos.", ["Abre a las nueve.", "Cierra a las dos."]),
        (
            "Pasos:\n1. Abra la tapa.\n2. Quite el\n   filtro.\n",
            ["Pasos:", "1. Abra la tapa.", "2. Quite el\n   filtro."],
        ),
        ("Se cita en 429 U.S. 190 (1976), un caso.", ["Se cita en 429 U.S. 190 (1976), un caso."]),
        ("Ejecute la orden:\n\n```\napt update\n```\n", ["Ejecute la orden:", "apt update"]),
        ("| uno | dos |\n| --- | --- |\n| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        ("¿Abre el lunes? No.", ["No."]),
        ("", []),
    ],
)
def test_a_passage_is_split_at_its_own_structure(text: str, units: list[str]) -> None:
    assert texts(text) == units


def test_a_long_list_is_quoted_with_its_first_items_only() -> None:
    items = "".join(f"- el documento número {number} con su copia\n" for number in range(60))
    [lead, *_] = units_of(f"Entregue:\n{items}", 0)
    assert 2 < len(lead.spans) < 20


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("La solicitud va por correo. Este plazo es de diez días.", True),
        ("The lease ends in May. This term can be renewed once.", True),
        ("It is a factory. It was founded in 1911.", False),
        ("Hay dos salas. En ese caso se avisa antes.", True),
        ("Hay dos salas. Está prohibido fumar.", False),
        ("Hay dos salas. Este manual las describe.", False),
        ("Este plazo es de diez días.", False),
        ("Hay dos salas.\n\nEste plazo es de diez días.", False),
        ("¿Hay salas? Esta es la azul.", False),
    ],
)
def test_a_sentence_is_quoted_with_the_one_that_it_refers_to(text: str, joined: bool) -> None:
    """Only within a paragraph: what a first sentence refers to stands elsewhere."""
    last = units_of(text, 0)[-1]
    quoted = " ".join(text[slice(*span)] for span in last.spans)
    assert quoted == (text if joined else last.text)


def test_an_item_that_is_too_long_for_a_tick_is_quoted_by_its_sentences() -> None:
    sentence = "La revisión de la caldera costó 480 euros. "
    item = f"1. Caldera. {sentence * 7}".strip()
    assert len(item) > MAX_CHARS
    assert [(unit.text, unit.topic) for unit in units_of(item, 0)] == [(sentence.strip(), "1. Caldera.")] * 7
    short = item[: item.rindex(" La")]
    assert [unit.text for unit in units_of(short, 0)] == [short]


@pytest.mark.parametrize("title", ["2. Cuentas del año 2024", "Cuentas del año 2024"])
def test_a_title_without_marks_is_what_its_paragraph_stands_under(title: str) -> None:
    [unit] = units_of(f"{title}\n\nEl saldo fue de 1.415 euros.", 0)
    assert (unit.text, unit.topic) == ("El saldo fue de 1.415 euros.", title)
    listed = units_of(f"Se pide:\n- una silla\n- {title}\n\nEl saldo fue de 1.415 euros.", 0)
    assert [one.text for one in listed] == ["Se pide:", "- una silla", f"- {title}", "El saldo fue de 1.415 euros."]


@pytest.mark.parametrize(("end", "lead"), [(".", ""), (":", "La directora guarda la lista:")])
def test_an_item_with_a_title_is_not_about_what_stands_above_it(end: str, lead: str) -> None:
    text = f"La directora guarda la lista{end}\n\n1. Taller. Lo lleva Koldo Arana.\n"
    assert units_of(text, 0)[-1].lead == lead


def test_an_item_whose_list_has_no_lead_in_stands_alone() -> None:
    unit = units_of("Hay tres salas.\n\n- La sala azul está arriba.\n", 0)[1]
    assert len(unit.spans) == 1
    assert unit.lead == "Hay tres salas."


@given(st.lists(PIECES, max_size=30).map("".join))
def test_every_span_is_a_slice_of_the_passage_in_reading_order(text: str) -> None:
    for unit in units_of(text, 3):
        assert unit.passage == 3
        assert text[slice(*unit.spans[-1])] == unit.text or len(unit.spans) > 1
        assert all(0 <= start < end <= len(text) for start, end in unit.spans)
        assert list(unit.spans) == sorted(unit.spans)
        assert unit.text.strip()
