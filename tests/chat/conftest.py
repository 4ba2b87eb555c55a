"""A small knowledge base about holidays and allowances, with and without vectors."""

from __future__ import annotations

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.pipeline import Pipeline, build_pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document
from tests.fakes import FakeEmbedder

SOURCE = """# Manual

Intro del manual.

## Vacaciones

Cada persona dispone de 23 días laborables de vacaciones. La solicitud va al portal.

## Dietas

La dieta de jornada completa es de 48 euros.
"""
INSIDE = "¿De cuántos días laborables de vacaciones dispone cada persona?"
OUTSIDE = "¿Qué altura tiene la torre Eiffel?"


def pipeline_of(text: str, settings: Settings, **changes: object) -> Pipeline:
    """The pipeline over a document; LEXICAL unless ``changes`` say otherwise."""
    changed = settings.with_changes(**{"retrieval_strategy": "LEXICAL", **changes})
    return build_pipeline(chunk_document(Document("kb", "manual", text)), "es", changed, FakeEmbedder)


@pytest.fixture(params=["LEXICAL", "HYBRID"])
def pipeline(request: pytest.FixtureRequest, settings: Settings) -> Pipeline:
    return pipeline_of(SOURCE, settings, retrieval_strategy=request.param)
