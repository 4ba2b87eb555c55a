"""One source text of several files, and back to the file and page of any place in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.chat.follow_ups import first_questions
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.kb_files import FilePlace, join_sources, place_of
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.types import Document
from tests.documents.made import pdf

MANUAL = "# Manual\n\n## Horario\n\nSe abre a las nueve.\n\n```\n# no es un título\n```\n"
AVISOS = "# Avisos\n\nEl lunes se cierra.\n"


def text_of(name: str, text: str) -> tuple[str, ParsedText]:
    return name, parse_upload(name, text.encode(), 10_000, 1)


def test_each_file_stands_under_its_name_and_its_headings_below() -> None:
    text, files = join_sources([text_of("manual.md", MANUAL), text_of("avisos.md", AVISOS)], 10_000)
    assert text == (
        "# manual\n\n## Manual\n\n### Horario\n\nSe abre a las nueve.\n\n```\n# no es un título\n```"
        "\n\n# avisos\n\n## Avisos\n\nEl lunes se cierra."
    )
    chunks = chunk_document(Document("kb", "kb", text))
    assert [chunk.section for chunk in chunks] == ["manual > Manual > Horario", "avisos > Avisos"]
    for chunk, name in zip(chunks, ("manual.md", "avisos.md"), strict=True):
        assert chunk.text == text[chunk.start : chunk.end]
        assert place_of(files, chunk.start) == FilePlace(name, None)
    assert not any(file.cut for file in files)


def test_a_single_file_is_its_own_text() -> None:
    text, [file] = join_sources([text_of("manual.md", MANUAL)], 10_000)
    assert text == MANUAL
    assert (file.start, file.end) == (0, len(MANUAL))


def test_the_page_of_a_place_is_known_in_a_pdf_among_other_files() -> None:
    pages = [[("Vacaciones", 18.0), ("Son veintitrés días.", 11.0)], [("Dietas", 18.0), ("Son treinta euros.", 11.0)]]
    content = pdf([*pages, [("Ropa", 18.0), ("Dos batas al año.", 11.0)]])
    parsed = parse_upload("guia.pdf", content, 10_000, 1)
    text, files = join_sources([text_of("avisos.md", AVISOS), ("guia.pdf", parsed)], 10_000)
    for page, said in enumerate(("Son veintitrés", "Son treinta", "Dos batas"), 1):
        assert place_of(files, text.index(said)) == FilePlace("guia.pdf", page)
    assert place_of(files, text.index("El lunes")) == FilePlace("avisos.md", None)


def test_what_finds_no_room_is_left_out_and_the_last_that_does_is_marked_as_cut() -> None:
    long = "Primer párrafo largo.\n\n" * 30
    given = [text_of("a.md", AVISOS), text_of("b.md", long), text_of("c.md", MANUAL)]
    text, files = join_sources(given, 200)
    assert len(text) <= 200
    assert [(file.name, file.cut) for file in files] == [("a.md", False), ("b.md", True)]


@pytest.mark.parametrize(
    ("paths", "text", "name"),
    [
        (["normas/a.md", "normas/sub/b.md"], MANUAL, "normas"),
        (["a/x.md", "b/y.md", "z.md"], MANUAL, "Manual y 2 más"),
        (["vacaciones 2026.txt", "b.txt"], "Son veinte días.", "vacaciones 2026 y 1 más"),
        (["acta.md", "b.md"], "# 1. Cuentas\n\nSon veinte días.", "acta y 1 más"),
        (["a.md", "b.md"], "# 2026 en cifras\n\nSon veinte días.", "2026 en cifras y 1 más"),
        (
            ["guía.md", "b.md"],
            "```\n# un comentario\n```\n\n# **Manual** de uso\n\nSon veinte días.",
            "Manual de uso y 1 más",
        ),
        (
            ["handbook.md", "b.md"],
            "# The handbook\n\nIt opens at nine and it is closed on the Monday.",
            "The handbook and 1 more",
        ),
        (["normas/a.md"], MANUAL, "normas/a.md"),
        (["acta_junta-2026.txt", "b.md"], "# ORDEN DEL DÍA\n\nSon veinte días.", "acta junta 2026 y 1 más"),
        (["Manual.md", "b.md"], "# Índice general\n\nSon veinte días.", "Manual y 1 más"),
    ],
)
def test_a_kb_that_nobody_named_has_a_name_that_a_person_would_give(
    tmp_path: Path, paths: list[str], text: str, name: str
) -> None:
    files = [text_of(path, f"{text}\n\nParte {row}." if row else text) for row, path in enumerate(paths)]
    assert KbStore(tmp_path).keep(files, 10_000).kb_name == name


def test_a_kb_of_several_files_is_kept_renamed_and_read_again(tmp_path: Path) -> None:
    store = KbStore(tmp_path)
    record = store.keep([text_of("manual.md", MANUAL), text_of("avisos.md", AVISOS)], 10_000)
    assert (record.kb_name, record.files, record.chunks) == ("Manual y 1 más", ("avisos.md", "manual.md"), 2)
    before = store.document(record.kb_id)
    renamed = store.rename(record.kb_id, "Normas v2.1")
    assert store.records() == [renamed]
    # The same sections under the same titles: a name changes no index.
    assert store.document(record.kb_id).title == before.title
    again = store.keep([text_of("manual.md", MANUAL), text_of("avisos.md", AVISOS)], 10_000)
    assert again.kb_name == "Normas v2.1"
    assert [file.name for file in KbStore(tmp_path).files(record.kb_id)] == ["avisos.md", "manual.md"]


BODY = "\n\nAquí se explica con detalle todo lo que hace falta saber de este asunto y de sus casos.\n\n"


@pytest.mark.parametrize(
    ("language", "heading", "question"),
    [
        ("es", "Gastos de viaje", "¿Qué hay sobre «gastos de viaje»?"),
        ("es", "3.2. Bajas médicas", "¿Qué hay sobre «bajas médicas»?"),
        ("es", "¿Cuándo se cobra?", "¿Cuándo se cobra?"),
        ("es", "Cómo pedir un permiso", "¿Cómo puedo pedir un permiso?"),
        ("es", "Requisitos de acceso", "¿Cuáles son los requisitos de acceso?"),
        ("es", "Plazos", "¿Cuáles son los plazos?"),
        ("es", "Tarifas especiales", "¿Cuáles son las tarifas especiales?"),
        ("es", "IVA y tasas", "¿Qué hay sobre «IVA y tasas»?"),
        ("es", "Introducción", None),
        ("en", "Travel expenses", "What is there about travel expenses?"),
        ("en", "Requirements", "What are the requirements?"),
        ("en", "How to apply", "How do I apply?"),
        ("en", "Overview", None),
    ],
)
def test_a_heading_becomes_a_question(language: str, heading: str, question: str | None) -> None:
    text = f"# Guía{BODY}## {heading}{BODY}## 1.{BODY}"
    asked = suggest_questions(Document("d", "d", text), language, 4)
    assert list(asked) == ([question] if question else [])


def test_what_nobody_would_ask_is_not_proposed() -> None:
    tried = ["¿Qué hay sobre «gastos de viaje»?", "¿Cuándo se cobra?", "What is there about fees?"]
    assert first_questions([tried], 3, lambda _: {"section"}) == ("¿Cuándo se cobra?",)


def test_what_is_defined_is_asked_for() -> None:
    text = f"# Guía{BODY}## El anticipo\n\nEl anticipo es una parte de la nómina que se cobra antes del día de pago."
    assert suggest_questions(Document("d", "d", text + BODY + "## 1." + BODY), "es", 4) == ("¿Qué es el anticipo?",)


def test_questions_are_spread_over_the_text_and_at_most_as_many_as_asked_for() -> None:
    text = "# Guía" + BODY + "".join(f"## Asunto {name} del centro{BODY}" for name in "abcdefghij")
    asked = suggest_questions(Document("d", "d", text), "es", 4)
    assert [question.split()[4] for question in asked] == ["a", "d", "g", "j"]
    assert suggest_questions(Document("d", "d", "Sin títulos."), "es", 4) == ()
