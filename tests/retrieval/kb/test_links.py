"""Who names whose heading."""

from __future__ import annotations

import pytest

from chatbot_mvp.retrieval.kb.links import SectionLinks
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer


def named(text: str, *headings: str) -> tuple[int, ...]:
    """What a paragraph of the section Inicio names of the sections with these headings, rows from 1."""
    passages = [Passage("Inicio", text, 0, (0,), ((0, len(text)),))]
    passages += [Passage(heading, "x", 0, (0,), ((0, 1),)) for heading in headings]
    return SectionLinks(passages, Analyzer("es"))[0]


@pytest.mark.parametrize(
    ("text", "headings", "expected"),
    [
        ("Véase la sección Gastos de viaje.", ["Gastos de viaje", "Gastos"], (1, 2)),
        ("véase GASTOS, DE VIÁJE", ["Gastos de viaje"], (1,)),
        ("Los gastos de viajeros.", ["Gastos de viaje"], ()),
        ("Las dietas se pagan.", ["Manual > Dietas"], (1,)),
        ("Las dietas se pagan.", ["Dietas", "Dietas"], (1, 2)),
        ("Inicio no se nombra a sí mismo.", ["Otro"], ()),
        ("Es para que si.", ["Para que", "Si", ""], ()),
    ],
)
def test_a_section_is_named_by_its_whole_heading(text: str, headings: list[str], expected: tuple[int, ...]) -> None:
    assert named(text, *headings) == expected
