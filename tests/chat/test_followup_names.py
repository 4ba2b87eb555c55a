"""What a follow-up names wins over what the question before named: sixty turns, two languages."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from chatbot_mvp.chat.followup import find, without_rivals
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, PastTurn
from tests.fakes import FakeEmbedder


@dataclass(frozen=True)
class Manual:
    """A document of ten departments with the same three sections each."""

    departments: tuple[str, ...]
    sections: tuple[str, str, str]
    lines: tuple[str, str, str]
    """One line per section, with the department and a figure of its own."""
    question: str
    """About the first section of a department."""
    others: tuple[str, ...]
    """Follow-ups that name another department."""
    topics: tuple[str, ...]
    """Follow-ups that name the second section."""

    @property
    def text(self) -> str:
        parts = []
        for number, department in enumerate(self.departments, 1):
            parts.append(f"# {department}")
            for section, line in zip(self.sections, self.lines, strict=True):
                parts += [f"## {section}", line.format(department=department, number=number)]
        return "\n\n".join(parts)


SPANISH = Manual(
    tuple("Finanzas Ventas Compras Almacén Marketing Calidad Logística Jurídico Sistemas Formación".split()),
    ("Horario", "Uniformes", "Presupuesto"),
    (
        "El horario de {department} es de {number} a {number}5 horas, de lunes a viernes.",
        "Los uniformes de {department} son {number} por persona y se renuevan cada año.",
        "El presupuesto de {department} es de {number}000 euros para material.",
    ),
    "¿Cuál es el horario de {department}?",
    ("¿Y en {other}?", "¿y para el departamento de {other}?", "¿Y {other}?"),
    ("¿Y los uniformes?", "¿y cuántos uniformes hay?", "¿Y el presupuesto?"),
)
ENGLISH = Manual(
    tuple("Finance Sales Purchasing Warehouse Marketing Quality Logistics Legal Systems Training".split()),
    ("Opening hours", "Uniforms", "Budget"),
    (
        "The opening hours of {department} are {number} to {number}5, Monday to Friday.",
        "The uniforms of {department} are {number} per person, renewed every year.",
        "The budget of {department} is {number}000 euros for material.",
    ),
    "What are the opening hours of {department}?",
    ("And in {other}?", "and for the {other} department?", "And {other}?"),
    ("And the uniforms?", "and how many uniforms are there?", "And the budget?"),
)
MANUALS = {"es": SPANISH, "en": ENGLISH}


def turns(manual: Manual) -> list[tuple[tuple[str, ...], str, str]]:
    """Thirty turns: (questions before, follow-up, section that answers it)."""
    found = []
    for row, department in enumerate(manual.departments):
        other = manual.departments[(row + 3) % len(manual.departments)]
        asked = manual.question.format(department=department)
        found.append(((asked,), manual.others[row % 3].format(other=other), f"{other} > {manual.sections[0]}"))
        topic = row % 3
        wanted = manual.sections[2 if topic == 2 else 1]
        found.append(((asked,), manual.topics[topic], f"{department} > {wanted}"))
        again = manual.others[(row + 1) % 3].format(other=other)
        found.append(((asked, manual.topics[0]), again, f"{other} > {manual.sections[1]}"))
    return found


@pytest.fixture(scope="module", params=sorted(MANUALS))
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Manual, Pipeline]:
    manual = MANUALS[request.param]
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), retrieval_strategy="LEXICAL")  # type: ignore[call-arg]
    chunks = chunk_document(Document("kb", "manual", manual.text))
    *_, pipeline = growing_pipeline(chunks, request.param, settings, FakeEmbedder)
    return manual, pipeline


def test_sixty_turns_find_what_they_name(asked: tuple[Manual, Pipeline]) -> None:
    manual, pipeline = asked
    wrong = []
    for before, question, section in turns(manual):
        history: list[PastTurn] = []
        for earlier in before:
            history.append(PastTurn(earlier, "…", find(pipeline, earlier, history).query))
        found = find(pipeline, question, history)
        first = found.trace.chunks_final[0].chunk.section if found.trace.chunks_final else ""
        if first != section:
            wrong.append((before, question, found.query, first))
    assert wrong == []


def test_only_what_stands_in_the_place_of_what_the_follow_up_names_is_left_out(asked: tuple[Manual, Pipeline]) -> None:
    manual, pipeline = asked
    first, other = manual.departments[:2]
    before = manual.question.format(department=first)
    assert first not in without_rivals(before, manual.others[0].format(other=other), pipeline)
    assert first in without_rivals(before, manual.topics[0], pipeline)
    assert without_rivals(before, "¿?", pipeline) == before
