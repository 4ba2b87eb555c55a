"""A small knowledge base about holidays and allowances, with and without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, PastTurn, last
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
    return last(growing_pipeline(chunk_document(Document("kb", "manual", text)), "es", changed, FakeEmbedder))


@pytest.fixture(params=["LEXICAL", "HYBRID"])
def pipeline(request: pytest.FixtureRequest, settings: Settings) -> Pipeline:
    return pipeline_of(SOURCE, settings, retrieval_strategy=request.param)


class ChatService:
    """The chat over pipelines that a test builds itself."""

    def __init__(self, model: ChatModel, settings: Settings, fallback: ChatModel) -> None:
        self._parts: dict[str, Any] = {"model": model, "fallback": fallback, "settings": settings}

    def ask(
        self, pipeline: Pipeline, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> Answer:
        return finished(AnswerStream(pipeline, question, context or UserContext(), history, **self._parts))

    def ask_stream(
        self, pipeline: Pipeline, question: str, context: UserContext | None = None, history: Sequence[PastTurn] = ()
    ) -> AnswerStream:
        return AnswerStream(pipeline, question, context or UserContext(), history, streamed=True, **self._parts)
