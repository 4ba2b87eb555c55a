"""What a knowledge base says about itself."""

from __future__ import annotations

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.kb.vocabulary import build_bm25_index
from chatbot_mvp.types import Document

SOURCE = """# Manual

## Días pendientes

La hoja de ruta se firma. La hoja de ruta se guarda en el archivo.

## Dietas > Ñandú

La hoja de ruta no es una dieta.
"""


def build(text: str = SOURCE, language: str = "es"):  # type: ignore[no-untyped-def]
    return build_bm25_index(chunk_document(Document("kb", "kb", text)), language)


def test_headings_are_kept_without_accents_beside_their_spelling() -> None:
    assert build().section_titles_normalized == {
        "dias pendientes": "Días pendientes",
        "dietas": "Dietas",
        "nandu": "Ñandú",
    }


def test_frequent_terms_and_phrases_are_counted_and_rare_ones_left_out() -> None:
    vocabulary = build().vocab_terms
    assert vocabulary["hoj"] == 3
    assert vocabulary["hoj rut"] == 3
    assert "archiv" not in vocabulary


def test_terms_that_stand_near_each_other_are_bound() -> None:
    index = build()
    assert index.cooc_map["hoj"][0] == "rut"
    assert "diet" not in index.cooc_map


def test_an_empty_knowledge_base_has_an_empty_index() -> None:
    index = build("")
    assert (list(index.chunks), dict(index.vocab_terms), dict(index.cooc_map)) == ([], {}, {})


def test_english_is_stemmed_as_english() -> None:
    assert "holiday" in build("# Holidays\n\nHolidays and holiday pay.", "en").words.values()


def sections(count: int, text: str = "La sala {n} tiene {n} sillas.") -> str:
    return "\n\n".join(f"## Sala {n}\n\n{text.format(n=n)}" for n in range(count))


def test_ten_short_documents_under_headings_of_their_own_are_a_corpus() -> None:
    index = build(sections(10))
    assert index.is_corpus
    assert [chunk.text for chunk in index.documents] == [f"La sala {n} tiene {n} sillas." for n in range(10)]
    assert [chunk.chunk_id for chunk in index.documents] == [chunk.chunk_id for chunk in index.chunks]
    assert "## Sala 3" in index.chunks[3].text


@pytest.mark.parametrize(
    "text",
    [
        sections(9),
        sections(10, "Una sala.\n\nTiene {n} sillas."),
        sections(9) + "\n\n## Sala 3\n\nOtra vez la sala.",
        "\n\n".join(f"La sala {n} tiene {n} sillas." for n in range(10)),
        "",
    ],
    ids=["too few", "two paragraphs each", "a heading twice", "no headings", "nothing"],
)
def test_anything_else_is_a_book(text: str) -> None:
    assert not build(text).is_corpus


def test_documents_with_contexts_are_no_corpus() -> None:
    chunks = chunk_document(Document("kb", "kb", sections(10)))
    assert not build_bm25_index(chunks, "es", contexts=["Un contexto."] * 10).is_corpus
    assert build_bm25_index(chunks, "es", contexts=[""] * 10).questions == []


def test_headings_with_a_term_come_in_the_order_of_the_text_and_once() -> None:
    index = build("# Viajes\n\nUno.\n\n# Dietas de viaje\n\nDos.\n\n# Taller\n\nTres.\n\n# Viaje y dietas\n\nCuatro.")
    terms = index.analyzer.terms("dietas viaje")
    assert index.titles_with(terms) == ["Viajes", "Dietas de viaje", "Viaje y dietas"]
    assert index.titles_with(terms[:1]) == ["Dietas de viaje", "Viaje y dietas"]
    assert index.titles_with([]) == index.titles_with(["nada"]) == []
    assert index.heading_words["taller"] == "Taller"
    assert set(index.heading_words) == {"viajes", "dietas", "viaje", "taller"}


def test_a_word_is_written_as_the_last_place_that_has_it_and_contexts_only_add_words() -> None:
    chunks = chunk_document(Document("kb", "kb", "# Año\n\nLa Energia. La energía, la ENERGÍA y la energía."))
    index = build_bm25_index(chunks, "es", contexts=["El VIADUCTO y la energia."] * len(chunks))
    assert index.written == {"energia": "energía", "ano": "Año"}
    assert {"energia", "ano", "viaducto"} <= index.words.keys()
    assert index.spoken[index.words["viaducto"]] == "viaducto"
    assert list(index.contexts) == ["El VIADUCTO y la energia."]


def test_a_misspelt_word_means_the_one_that_more_paragraphs_have() -> None:
    assert build("# A\n\nEl camino.\n\nUn camión.\n\nOtro camión.").spellings.nearest("camio") == "camion"
    assert build("# A\n\nEl camión.\n\nUn camino.\n\nOtro camino.").spellings.nearest("camio") == "camino"


def test_questions_of_a_chunk_are_searched_and_change_no_vocabulary() -> None:
    chunks = chunk_document(Document("kb", "kb", SOURCE))
    asked = build_bm25_index(chunks, "es", questions=["¿Dónde está el viaducto?"] * len(chunks))
    plain = build_bm25_index(chunks, "es")
    assert asked.vocab_terms == plain.vocab_terms and asked.cooc_map == plain.cooc_map
    assert "viaduct" in asked.matcher.searched and "viaduct" not in asked.matcher.terms
    assert "viaduct" not in plain.matcher.searched
    assert asked.questions == ["¿Dónde está el viaducto?"] * len(asked.chunks)
