"""A strategy's needs and knobs follow from its stages."""

from __future__ import annotations

import pytest

from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.model import Settings

FUSION = {"retrieval_fusion", "retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"}
DEPTH, EXPANSION, WORDS = {"retrieval_pre_fusion_k"}, {"query_expansion_llm"}, {"retrieval_expansion"}
CONTEXT = {"retrieval_context_max_tokens", "retrieval_context_batch_size", "retrieval_context_questions"}


@pytest.mark.parametrize(
    ("name", "vectors", "links", "model", "knobs"),
    [
        ("LEXICAL", False, False, False, DEPTH | EXPANSION | WORDS),
        ("SIMPLE_VECTOR", True, False, False, DEPTH),
        ("HYBRID", True, False, False, DEPTH | EXPANSION | WORDS | FUSION),
        ("CONTEXTUAL_HYBRID", True, False, True, DEPTH | EXPANSION | WORDS | FUSION | CONTEXT),
        ("BRIDGE", False, True, False, WORDS),
        ("BRIDGE_HYBRID", True, True, False, DEPTH | WORDS),
        ("RAG_V2", True, False, False, DEPTH | EXPANSION),
        ("KB_CHAT", False, False, False, EXPANSION | WORDS),
    ],
)
def test_a_strategy_needs_what_its_stages_need(
    name: str, vectors: bool, links: bool, model: bool, knobs: set[str]
) -> None:
    found = STRATEGIES[name]
    assert (found.needs_vectors, found.needs_links, found.needs_language_model) == (vectors, links, model)
    assert found.knobs == knobs


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_knobs_of_a_strategy_are_settings(name: str) -> None:
    assert STRATEGIES[name].knobs <= Settings.model_fields.keys()
