"""Proposals without a model: each rests on words that stand in the text, and they are spread over all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.evaluation.kb.rules import answerable_by_rules, far_by_rules, near_by_rules, renumbered, split_count
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.text import fold
from chatbot_mvp.types import Document

ENGLISH = """# Library rules

## Loans

The loan period is 21 days for books. A loan is a contract between the reader and the library. It is forbidden to lend \
library books to other people.

## Opening hours

The reading room opens at nine in the morning from Monday to Saturday. The annual fee is 12 euros for grown-ups.

## Sanctions

- **Late return**: fifteen cents a day for each book.
- **Lost book**: the price of a new copy.
"""


def sample() -> Document:
    path = next((PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md"))
    return Document("kb", path.stem, path.read_text("utf-8"))


def english() -> Document:
    return Document("kb", "rules", ENGLISH)


@pytest.mark.parametrize(("document", "language", "count"), [(sample(), "es", 60), (english(), "en", 8)])
def test_every_proposal_stands_in_the_text_and_in_one_chunk(document: Document, language: str, count: int) -> None:
    found = answerable_by_rules(document, language, count)
    chunks = chunk_document(document)
    assert len(found) >= min(count, 30) or language == "en"
    assert len(found) >= 5
    for each in found:
        evidence = each.question.paragraph
        assert evidence
        assert evidence in document.text
        assert any(evidence in chunk.text for chunk in chunks)
        assert (each.question.kind, each.origin, each.keep) == ("answerable", "rules", True)
        assert each.question.question.endswith("?")
    assert len({fold(each.question.question) for each in found}) == len(found)
    assert len({each.question.paragraph for each in found}) == len(found)


def test_a_few_questions_are_of_all_parts_of_the_document() -> None:
    document = sample()
    places = [document.text.index(each.question.paragraph or "") for each in answerable_by_rules(document, "es", 10)]
    assert len(places) == 10
    assert places == sorted(places)
    tenths = {10 * place // len(document.text) for place in places}
    assert len(tenths) >= 8


@pytest.mark.parametrize(
    "question",
    [
        "What is the loan period?",
        "Is it allowed to lend library books to other people?",
        "When does the reading room open?",
        "What is the annual fee?",
        "What is there about late return?",
    ],
)
def test_figures_definitions_prohibitions_and_lists_become_questions(question: str) -> None:
    assert question in [each.question.question for each in answerable_by_rules(english(), "en", 20)]


def test_nothing_is_asked_about_a_bare_name_or_about_what_is_no_subject() -> None:
    text = """# Guía

## Correo

Los mensajes se leen en el taller de Talleres Brañalta con cualquier programa de los habituales.

- **Mediante Thunderbird**: abra la cuenta nueva y escriba la dirección completa.
- **Firma digital**: se pide en la oficina con el documento de identidad.

## Configurando el móvil

Abra los ajustes del teléfono, elija las cuentas y escriba la dirección completa.
"""
    document = Document("kb", "guia", text)
    found = [each.question.question for each in answerable_by_rules(document, "es", 20)]
    assert "¿Qué hay sobre «firma digital»?" in found
    asked = " ".join([*found, *(each.question.question for each in near_by_rules(document, "es", 20))])
    assert not re.search("Brañalta|Thunderbird|onfigurando", asked)


@pytest.mark.parametrize(("document", "language"), [(sample(), "es"), (english(), "en")])
def test_near_questions_name_a_topic_of_the_document_and_expect_no_passage(document: Document, language: str) -> None:
    found = near_by_rules(document, language, 6)
    assert len(found) == 6
    headings = {each.question.heading for each in found}
    assert all(heading and heading.split(" > ")[-1] in document.text for heading in headings)
    assert all((each.question.kind, each.question.paragraph) == ("near", None) for each in found)


def test_a_frame_is_not_used_where_the_section_speaks_of_it() -> None:
    about = "Hubo tres quejas por la sentencia y el premio."
    text = f"# Curso\n\nEl curso recibió un premio.\n\n# Premios y quejas\n\n{about}\n"
    found = near_by_rules(Document("kb", "x", text), "es", 20)
    assert found
    assert not [each for each in found if "premio se recibió por premios" in each.question.question]
    assert not [each for each in found if "se quejaron de premios" in each.question.question]


def test_far_questions_share_few_words_with_the_document() -> None:
    document = Document("kb", "x", "El estaño se funde a una temperatura de 232 grados. Hay un laúd del renacimiento.")
    found = [each.question.question for each in far_by_rules(document, "es", 30, ["¿Quién riega las macetas?"])]
    assert "¿Quién riega las macetas?" in found
    assert "¿Cuál es la temperatura de fusión del estaño?" not in found
    assert len(found) > 20


def test_half_are_answerable_and_a_quarter_of_each_other_kind() -> None:
    assert split_count(40) == (20, 10, 10)
    assert split_count(13) == (7, 3, 3)
    made = renumbered([*answerable_by_rules(english(), "en", 2), *near_by_rules(english(), "en", 1)])
    assert [each.question.question_id for each in made] == ["a001", "a002", "n001"]


def test_an_empty_text_has_no_questions(tmp_path: Path) -> None:
    assert answerable_by_rules(Document("kb", "x", ""), "es", 10) == []
    assert near_by_rules(Document("kb", "x", ""), "es", 10) == []
