"""What a knowledge base says about itself."""

from __future__ import annotations

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
