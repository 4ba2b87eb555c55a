"""A question gains what the knowledge base suggests, and each addition says where it came from."""

from __future__ import annotations

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex, build_bm25_index
from chatbot_mvp.retrieval.stages.expansion import WEIGHTS, expand_query_with_kb, expansion_weights
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Document

SOURCE = """# Manual

## Vacaciones anuales

Son 23 días. La hoja de ruta se firma. La hoja de ruta se guarda.

## Liquidación

La dieta completa es de 48 euros. Las audioguías están en la RED privada. Se avisa el fin de semana.
La garantía dura un año.
"""


@pytest.fixture
def index() -> KbIndex:
    return build_bm25_index(chunk_document(Document("kb", "kb", SOURCE)), "es")


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("¿Cuántas vacasiones hay?", "fuzzy_heading: Vacaciones"),
        ("vacasiones", "fuzzy_heading: Vacaciones"),
        ("¿Cuánto es la dieta copmleta?", "vocab: completa"),
        ("avisa el findesemana", "vocab: semana"),
        ("¿hay audio guía?", "vocab: audioguía"),
        ("garantia", "vocab: garantía"),
        ("grantia", "vocab: garantía"),
        ("hojaruta", "vocab: ruta"),
        ("dietahoja", ""),  # both are words of the KB, but never stand together
        ("¿Qué es REDD?", ""),  # an acronym
        ("REDD PRIVADDA", "vocab: privada"),
        ("liquidación", ""),
        ("vacaciones", "heading_match: anuales"),
        ("¿La hoja?", "cooc: ruta"),
        ("submarino nuclear", ""),
        ("", ""),
        ("🙂 ¿?", ""),
    ],
)
def test_additions_and_their_sources(index: KbIndex, query: str, note: str) -> None:
    expanded, notes = expand_query_with_kb(query, index)
    if not note:
        assert (expanded, notes) == ("", ())
        return
    assert note in notes
    assert expanded == " ".join([query, *(found.partition(": ")[2] for found in notes)])


def test_an_added_term_weighs_less_than_the_questions_own(index: KbIndex) -> None:
    expanded, notes = expand_query_with_kb("vacasiones", index)
    weights = expansion_weights(RetrievalTrace("vacasiones", expanded, notes), index)
    assert weights["vacasion"] == 1.0
    assert weights["vacacion"] == WEIGHTS["fuzzy_heading"] < 1


def test_a_question_whose_words_the_kb_has_gains_no_correction(index: KbIndex) -> None:
    assert expand_query_with_kb("¿Se firma la dieta completa y la hoja de ruta?", index) == ("", ())
