"""After a change of provider the one that was left receives no request any more."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from chatbot_mvp.errors import NeedsLanguageModel
from chatbot_mvp.settings.model import Settings
from tests.llm.conftest import between
from tests.llm.openai_stub import OpenAiStub

SOURCE = "# Faro\n\nEl faro se encendió en 1901.\n\n# Puente\n\nEl puente es de hierro.\n"
QUESTION = "¿Cuándo se encendió el faro?"
RERANKED: dict[str, Any] = {"reranker_enabled": True}
EXPANDED: dict[str, Any] = {"query_expansion_llm": True}
ENRICHED: dict[str, Any] = {"retrieval_strategy": "CONTEXTUAL_HYBRID"}


@pytest.mark.parametrize("search", [{}, RERANKED, EXPANDED, ENRICHED], ids=["answer", "rerank", "expand", "enrich"])
def test_the_provider_that_was_left_hears_nothing_more(
    settings: Settings, left: OpenAiStub, chosen: OpenAiStub, search: dict[str, Any]
) -> None:
    app = between(settings, left, chosen, **search)
    kb_id = app.kbs.add("faro.md", SOURCE.encode()).kb_id
    app.answering.ask(kb_id, QUESTION)
    heard = len(left.requests)
    assert heard > 0
    assert not chosen.requests
    app.providers.choose("ollama")
    app.answering.ask(kb_id, QUESTION)
    assert len(left.requests) == heard
    assert chosen.requests


@pytest.mark.parametrize(
    ("search", "refused"),
    [({}, nullcontext()), (EXPANDED, pytest.raises(NeedsLanguageModel))],
    ids=["without a model", "a search that needs one"],
)
def test_after_the_choice_of_demo_no_provider_hears_anything(
    settings: Settings,
    left: OpenAiStub,
    chosen: OpenAiStub,
    search: dict[str, Any],
    refused: AbstractContextManager[Any],
) -> None:
    app = between(settings, left, chosen, **search)
    kb_id = app.kbs.add("faro.md", SOURCE.encode()).kb_id
    app.answering.ask(kb_id, QUESTION)
    heard = len(left.requests)
    app.providers.choose("demo")
    with refused:
        assert "1901" in app.answering.ask(kb_id, QUESTION).text
    assert (len(left.requests), len(chosen.requests)) == (heard, 0)
