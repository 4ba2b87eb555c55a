"""Chunks follow a document's own structure and give back the exact text of their place."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.documents.chunking import LIMIT_CHARS, OVERLAP_CHARS, chunk_document, passage_chunk, split_sections
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.text import sentences
from chatbot_mvp.types import Chunk, Document

WORDS = "casa río puente vacación 42 el de montaña solicitud Orzama km.2 ñu".split()


def sentence(words: int) -> str:
    """So many words, at most 600 characters for 60 of them, ended by a full stop."""
    return " ".join(WORDS[(words + n) % len(WORDS)] for n in range(words)).capitalize() + "z."


SENTENCE = st.integers(1, 60).map(sentence)
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=12).map(" ".join)
"""About 200 to 2,000 characters: under and over the limit of a chunk."""
LONG_PARAGRAPH = st.lists(st.integers(8, 30).map(sentence), min_size=5, max_size=9).map(" ".join)
LIST = st.lists(SENTENCE, min_size=1, max_size=6).map(lambda items: "\n".join(f"- {item}" for item in items))
HEADING = st.builds(lambda level, number: f"{'#' * level} Apartado {number}", st.integers(1, 4), st.integers(0, 99))
BLOCKS = st.lists(
    st.tuples(st.just("heading"), HEADING) | st.tuples(st.just("body"), LONG_PARAGRAPH | PARAGRAPH | LIST),
    min_size=2,
    max_size=14,
)


def document(text: str, title: str = "Manual") -> Document:
    return Document("d", title, text, "manual.md")


def assemble(blocks: list[tuple[str, str]]) -> tuple[str, list[tuple[int, int]]]:
    """The text of the blocks, and the spans of those that are headings."""
    text, headings = "", []
    for kind, block in blocks:
        if kind == "heading":
            headings.append((len(text), len(text) + len(block)))
        text += block + "\n\n"
    return text, headings


@given(st.text(max_size=600) | st.text(alphabet="# \n\tA.1-`~ñ", max_size=300))
def test_chunks_of_any_text_are_exact_slices_in_order(text: str) -> None:
    chunks = chunk_document(document(text))
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end] != ""
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)


@given(BLOCKS)
def test_every_character_outside_headings_is_in_some_chunk(blocks: list[tuple[str, str]]) -> None:
    text, headings = assemble(blocks)
    covered = [False] * len(text)
    for start, end in [*headings, *((chunk.start, chunk.end) for chunk in chunk_document(document(text)))]:
        covered[start:end] = [True] * (end - start)
    assert "".join(char for char, seen in zip(text, covered, strict=True) if not seen).strip() == ""


@given(BLOCKS)
def test_no_chunk_is_over_the_limit_where_every_sentence_is_under_half_of_it(blocks: list[tuple[str, str]]) -> None:
    text, _ = assemble(blocks)
    assert [chunk for chunk in chunk_document(document(text)) if len(chunk.text) > LIMIT_CHARS] == []


@pytest.mark.parametrize("sentences_each", [2, 4, 7])
def test_chunks_of_long_sections_have_900_to_1400_characters_and_follow_headings(sentences_each: int) -> None:
    paragraph = " ".join(f"La frase número {number} habla de algo sencillo." for number in range(sentences_each))
    sections = [f"# Parte {number}\n\n" + "\n\n".join([paragraph] * 40) for number in range(2)]
    chunks = chunk_document(document("\n\n".join(sections)))
    for name in ("Parte 0", "Parte 1"):
        sizes = [len(chunk.text) for chunk in chunks if chunk.section == name]
        assert len(sizes) > 3
        assert all(900 <= size <= 1_400 for size in sizes[:-1]), "but for the rest of a section"
        assert any(size >= 1_100 for size in sizes)


@given(
    st.lists(
        st.lists(st.integers(1, 2_000).map(lambda size: "ñ" * size), min_size=1, max_size=8).map(" ".join),
        min_size=1,
        max_size=5,
    )
)
def test_a_chunk_over_the_limit_is_one_single_word(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    chunks = chunk_document(document(text))
    for chunk in chunks:
        assert len(chunk.text) <= LIMIT_CHARS or chunk.text.split() == [chunk.text]
    assert {word for chunk in chunks for word in chunk.text.split()} == set(text.split())


@given(BLOCKS)
def test_a_chunk_begins_where_a_heading_a_paragraph_or_a_sentence_does(blocks: list[tuple[str, str]]) -> None:
    text, headings = assemble(blocks)
    starts = {start for start, _ in headings}
    for match in re.finditer(r"\S(?:.|\n(?!\n))*", text):
        starts.add(match.start())
        starts.update(match.start() + start for start, _ in sentences(match.group()))
    assert {chunk.start for chunk in chunk_document(document(text))} <= starts


@given(BLOCKS)
def test_no_chunk_crosses_a_heading(blocks: list[tuple[str, str]]) -> None:
    text, headings = assemble(blocks)
    for chunk in chunk_document(document(text)):
        assert [start for start, _ in headings if chunk.start < start < chunk.end] == []


@given(BLOCKS)
def test_neighbours_overlap_by_no_more_than_the_overlap_and_leave_no_gap(blocks: list[tuple[str, str]]) -> None:
    text, _ = assemble(blocks)
    for one, following in pairwise(chunk_document(document(text))):
        assert one.start < following.start
        assert one.end < following.end
        assert one.end - following.start <= OVERLAP_CHARS


def test_a_chunk_repeats_the_last_sentences_of_the_one_before() -> None:
    text = " ".join(f"Esta es la frase número {number} del único párrafo del texto." for number in range(60))
    chunks = chunk_document(document(text))
    assert len(chunks) > 2
    for one, following in pairwise(chunks):
        shared = text[following.start : one.end]
        assert shared
        assert one.text.endswith(shared)
        assert following.text.startswith(shared)
        assert shared.startswith("Esta es")


def test_a_chunk_repeats_no_row_in_part() -> None:
    """The last sentence of the row before would say something of nobody."""
    rows = [f"- Día: {day}; Acto: Coro; Nota: Aforo de {day}. Lo lleva Ana. Hay que avisar antes." for day in range(90)]
    one, *others = chunk_document(document("\n".join(rows)))
    assert one.text.endswith("antes.")
    assert others
    assert all(chunk.text.startswith("- Día: ") for chunk in others)


def test_where_the_last_paragraph_is_too_long_to_repeat_its_last_sentences_are() -> None:
    """Two paragraphs of 1,000 characters do not fit one chunk; 250 characters of the first are repeated."""
    paragraph = " ".join(f"Frase número {number} de este párrafo, de cincuenta letras." for number in range(10, 28))
    text = f"{paragraph}\n\n{paragraph}"
    one, following = chunk_document(document(text))
    shared = text[following.start : one.end]
    assert one.text == paragraph
    assert 150 < len(shared) <= OVERLAP_CHARS
    assert shared.startswith("Frase número 2")


@pytest.mark.parametrize(
    "line",
    [
        "# Vacaciones",
        "###### Detalle ######",
        "## **Negrita**",
        "1. Objeto",
        "1.2. Ámbito de aplicación",
        "3.1 Plazos",
        "ARTÍCULO 3",
        "Artículo 12. Del permiso",
        "Capítulo IV",
        "Anexo II",
        "Section 3",
        "PERMISOS RETRIBUIDOS",
        "Gastos de Viaje",
        "Horarios y Turnos de la Planta",
    ],
)
def test_a_line_is_a_heading_when_it_looks_like_one(line: str) -> None:
    sections = split_sections(f"Texto de antes.\n\n{line}\n\nTexto que sigue.\n")
    assert [section.path for section in sections] == ["", line.strip("# *")]


@pytest.mark.parametrize(
    "line",
    [
        "Esto es una frase corriente.",
        "Una línea sin punto pero con minúsculas",
        "¿Qué Pasa Aquí?",
        "Los Pasos Son Estos:",
        "- Uno De La Lista",
        "* OTRO DE LA LISTA",
        "• Tercero",
        "> CITA TEXTUAL",
        "«Título Entre Comillas»",
        "1. abrir la puerta",
        "23 días laborables",
        "#sin espacio",
        "ES",
        "Palabras Muchas " * 6,
        "    ",
        "2024",
    ],
)
def test_a_line_is_no_heading_when_it_is_a_sentence_or_a_list_item(line: str) -> None:
    assert [section.path for section in split_sections(f"Texto de antes.\n\n{line}\n\nTexto que sigue.\n")] == [""]


@pytest.mark.parametrize("fence", ["```", "~~~", "  ```python"])
def test_nothing_inside_a_code_fence_is_a_heading(fence: str) -> None:
    text = f"# Uno\n\nTexto.\n\n{fence}\n# comentario\n{fence[:5].rstrip('python')}\n\n# Dos\n\nMás."
    assert [section.path for section in split_sections(text)] == ["Uno", "Dos"]


def test_a_title_needs_a_blank_line_around_it_unless_it_is_markdown() -> None:
    assert [section.path for section in split_sections("Texto\nPERMISOS\nmás texto.")] == [""]
    assert [section.path for section in split_sections("Texto\n# Permisos\nmás texto.")] == ["", "Permisos"]


def test_a_section_is_named_by_its_path_without_the_documents_own_title() -> None:
    text = "# Manual\n\nIntro.\n\n## Vacaciones\n\nUno.\n\n### Solicitud\n\nDos.\n\n## Gastos\n\nTres.\n"
    assert [section.path for section in split_sections(text)] == [
        "Manual",
        "Vacaciones",
        "Vacaciones > Solicitud",
        "Gastos",
    ]


def test_a_chunk_starts_with_its_heading_so_that_a_citation_shows_it() -> None:
    text = "Intro suelta.\n\n## Vacaciones\n\nSon 23 días.\n"
    assert [(chunk.section, chunk.text) for chunk in chunk_document(document(text))] == [
        ("Manual", "Intro suelta."),
        ("Vacaciones", "## Vacaciones\n\nSon 23 días."),
    ]


@pytest.mark.parametrize("text", ["", "\n\n", "   \t\n"])
def test_a_document_without_text_has_no_chunks(text: str) -> None:
    assert chunk_document(document(text)) == []


def test_every_section_of_the_sample_is_found_by_its_name() -> None:
    path = PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
    text = path.read_text("utf-8")
    headings = {match.group(1) for match in re.finditer(r"^##+ (.+)$", text, re.M)}
    named = {part for chunk in chunk_document(document(text)) for part in chunk.section.split(" > ")}
    assert len(headings) >= 15
    assert headings <= named


def test_a_corpus_passage_is_one_chunk_under_the_documents_id() -> None:
    passage = Document("d7", "Río Orzama", "Nace en la sierra.\n\n# No es título\n", "valle")
    assert passage_chunk(passage) == Chunk("d7", "d7", "Río Orzama", passage.text, 0, len(passage.text))


def test_the_name_of_the_section_is_indexed_with_the_text() -> None:
    assert Chunk("c", "d", "Gastos > Dietas", "48 euros", 0, 8).index_text == "Gastos > Dietas\n48 euros"
    assert Chunk("c", "d", "", "48 euros", 0, 8).index_text == "48 euros"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Pasos.\n\n1. Abrir la puerta\n\n2. Cerrar la puerta\n", ["Abrir la puerta", "Cerrar la puerta"]),
        ("## Equipo\n\nMaría Pérez\n\nJuan García\n", ["María Pérez", "Juan García"]),
        ("## Vacío\n\n## Lleno\n\nCon texto.\n", ["Vacío", "Con texto."]),
    ],
)
def test_a_heading_without_a_body_is_kept_as_text(text: str, kept: list[str]) -> None:
    joined = "\n".join(chunk.text for chunk in chunk_document(Document("d", "d", text)))
    assert all(piece in joined for piece in kept)


def test_a_fence_that_opens_and_closes_on_one_line_hides_no_heading() -> None:
    text = "# Uno\n\n```código```\n\n# Dos\n\nTexto."
    assert [chunk.section for chunk in chunk_document(Document("d", "d", text))] == ["Uno", "Dos"]


def test_a_heading_shares_no_chunk_with_a_first_paragraph_that_fills_it() -> None:
    text = "# " + "Un título largo " * 5 + "\n\n" + "palabra " * 174 + "fin."
    assert max(len(chunk.text) for chunk in chunk_document(Document("d", "d", text))) <= LIMIT_CHARS
