"""The systems as presets: legal settings over any others, and nothing that is not a setting."""

from __future__ import annotations

from typing import get_args

import pytest

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.retrieval.systems import DEFAULT, SYSTEMS, changes_of, get_system, with_system
from chatbot_mvp.settings.kinds import PresetName
from chatbot_mvp.settings.model import SECRETS, Settings

NAMES = ["default", "kb_chat", "rag_v2", "rag_p_simple_vector", "rag_p_contextual_hybrid"]


def test_the_systems_are_the_five_that_people_ask_for() -> None:
    assert list(SYSTEMS) == NAMES
    assert all(system.summary and not system.summary.endswith(".") for system in SYSTEMS.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_system_is_legal_settings_over_those_in_effect_and_nothing_else(settings: Settings, name: str) -> None:
    before = settings.with_changes(retrieval_bm25_weight=0.9, kb_max_context_chars=1_500, kb_max_pages=7)
    after = with_system(before, name)
    changes = SYSTEMS[name].changes
    assert changes.keys() <= Settings.model_fields.keys() - set(SECRETS)
    assert {setting: getattr(after, setting) for setting in changes} == dict(changes)
    kept = Settings.model_fields.keys() - changes.keys()
    assert {setting: getattr(after, setting) for setting in kept} == {s: getattr(before, s) for s in kept}
    assert after.retrieval_strategy in STRATEGIES


def test_the_default_for_everybody_is_one_of_the_systems() -> None:
    assert get_args(PresetName) == ("", *NAMES[1:])
    assert changes_of("") == {}
    assert changes_of("kb_chat") == SYSTEMS["kb_chat"].changes


RAG_P = {
    "retrieval_k": 7,
    "retrieval_pre_fusion_k": 40,
    "retrieval_rrf_k": 30,
    "retrieval_bm25_weight": 0.25,
    "retrieval_vector_weight": 0.75,
    "generation_max_context_chars": 9_000,
    "retrieval_context_max_tokens": 90,
}


@pytest.mark.parametrize("name", ["rag_p_simple_vector", "rag_p_contextual_hybrid"])
def test_what_users_of_rag_p_set_themselves_wins_over_its_preset_and_nothing_else(
    settings: Settings, name: str
) -> None:
    before = settings.with_changes(**RAG_P, kb_top_k=3)
    after = with_system(before, name, {*RAG_P, "kb_top_k"}.__contains__)
    assert {setting: getattr(after, setting) for setting in RAG_P} == RAG_P
    assert after.kb_top_k == 20
    assert with_system(before, name).retrieval_k == 20


def test_the_default_changes_nothing(settings: Settings) -> None:
    assert SYSTEMS[DEFAULT].changes == {}
    assert with_system(settings, DEFAULT) is settings
    assert with_system(settings, "") is settings


def test_another_name_is_refused_with_the_legal_ones() -> None:
    with pytest.raises(UnknownChoice) as raised:
        get_system("rag_v3")
    assert "'rag_v3'" in str(raised.value)
    assert all(name in str(raised.value) for name in NAMES)


def test_a_system_says_whether_it_needs_a_language_model() -> None:
    assert {name for name, system in SYSTEMS.items() if system.needs_language_model} == {
        "rag_v2",
        "rag_p_contextual_hybrid",
    }


def test_each_system_has_the_figures_of_its_description(settings: Settings) -> None:
    chat, second = with_system(settings, "kb_chat"), with_system(settings, "rag_v2")
    assert (chat.retrieval_strategy, chat.query_expansion_llm, chat.reranker_enabled) == ("KB_CHAT", False, False)
    # No model is asked before a refusal if doubt does not begin below the threshold.
    assert chat.kb_doubt_evidence > chat.kb_min_evidence == 0.5
    assert (second.retrieval_strategy, second.retrieval_pre_fusion_k) == ("RAG_V2", 15)
    assert (second.reranker_candidates, second.reranker_top_n, second.kb_top_k) == (15, 5, 5)
    assert (second.kb_doubt_evidence, second.kb_min_evidence, second.llm_temperature) == (0.05, 0.15, 0.1)
    for name, strategy in (
        ("rag_p_simple_vector", "SIMPLE_VECTOR"),
        ("rag_p_contextual_hybrid", "CONTEXTUAL_RRF"),
    ):
        run = with_system(settings, name)
        assert (run.retrieval_strategy, run.vector_store) == (strategy, "chroma")
        assert (run.retrieval_k, run.retrieval_pre_fusion_k, run.eval_corpus_slice) == (20, 150, "blind")
    assert second.ollama_model_name == "llama3.1:8b"
    assert (chat.chat_asks_back, chat.chat_withholds) == (False, False)
    fused = with_system(settings, "rag_p_contextual_hybrid")
    assert (fused.retrieval_fusion, fused.retrieval_rrf_k) == ("rrf", 60)
    assert (fused.retrieval_bm25_weight, fused.retrieval_vector_weight) == (0.5, 0.5)
