"""What the evidence for an answer in a knowledge base is made of."""

from __future__ import annotations

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.stages.evidence import evidence_features
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder

SECTION = "# Taller\n\nEl taller abre a las ocho de la mañana. Cierra los lunes.\n\n"
OTHERS = "El torno azul pesa mucho.\n\nLas botas negras son de cuero.\n\n"
ELSEWHERE = "# Comedor\n\nLa sopa caliente se sirve primero.\n"
QUESTION = "¿A qué hora abre el taller por la mañana?"


def features(settings: Settings, text: str, question: str, strategy: str = "HYBRID") -> dict[str, float]:
    chunks = chunk_document(Document("kb", "kb", text))
    changed = settings.with_changes(retrieval_strategy=strategy)
    pipeline = last(growing_pipeline(chunks, "es", changed, FakeEmbedder))
    [trace] = pipeline.retrieve([question])
    return evidence_features(trace, pipeline.index)


def test_the_sentence_that_answers_stands_out_among_its_section(settings: Settings) -> None:
    """Without it, what is left of the section is all alike."""
    there = features(settings, SECTION + OTHERS + ELSEWHERE, QUESTION)
    gone = features(settings, "# Taller\n\n" + OTHERS + ELSEWHERE, QUESTION)
    for name in ("section_lead", "sentence_cosine", "letters_lead", "coverage"):
        assert there[name] > gone[name], name


@pytest.mark.parametrize(
    ("question", "unknown", "elsewhere"),
    [
        ("¿abre el taller por la mañana?", 0.0, 0.0),
        ("¿abre el taller con sopa?", 0.0, 0.5),
        ("¿abre el taller con violines?", 0.5, 0.0),
    ],
)
def test_terms_that_the_paragraph_lacks_are_elsewhere_or_unknown(
    settings: Settings, question: str, unknown: float, elsewhere: float
) -> None:
    found = features(settings, SECTION + OTHERS + ELSEWHERE, question, "LEXICAL")
    assert found["unknown"] == pytest.approx(unknown, abs=0.2)
    assert found["elsewhere"] == pytest.approx(elsewhere, abs=0.2)
    assert found["coverage"] + found["elsewhere"] + found["unknown"] == pytest.approx(1)


def test_a_single_paragraph_has_features_too(settings: Settings) -> None:
    found = features(settings, "Una sola frase sin título.", "¿Una frase sin título?")
    assert found["alone"] == 1
    assert all(value == value for value in found.values()), "no NaN"
