"""The systems that this project unites, as presets: each is the settings that make this one work as it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.model import Settings

DEFAULT = "default"
"""Name of the preset that changes nothing."""


@dataclass(frozen=True, slots=True)
class System:
    """A named set of settings."""

    name: str
    summary: str
    """One line without a full stop, in English; the pages have texts of their own."""
    changes: Mapping[str, Any]
    """Setting -> its value in this system. All other settings stay as they are."""
    own: frozenset[str] = frozenset()
    """Settings that the system's users set themselves: what the environment or a file sets wins over ``changes``."""

    def over(self, is_set: Callable[[str], bool]) -> dict[str, Any]:
        """Return the changes to settings.

        Args:
            is_set: whether a setting is set outside the program, as ``LiveSettings.is_outside`` says.
        """
        return {name: value for name, value in self.changes.items() if name not in self.own or not is_set(name)}

    @property
    def needs_language_model(self) -> bool:
        """True if the provider must have a language model, whatever the other settings are."""
        if self.changes.get("query_expansion_llm") or self.changes.get("reranker_enabled"):
            return True
        strategy = self.changes.get("retrieval_strategy")
        return strategy is not None and get_strategy(strategy).needs_language_model


_RAG_P: Mapping[str, Any] = {
    "vector_store": "chroma",
    "retrieval_k": 20,
    "retrieval_pre_fusion_k": 150,
    "eval_corpus_slice": "blind",
    "generation_context": "retrieved",
    "generation_max_context_chars": 0,
    "retrieval_expansion": False,
    "retrieval_stitching": False,
    "query_expansion_llm": False,
    "retrieval_context_questions": 0,
    "kb_top_k": 20,
    "kb_min_score": 0.0,
    # RAG_P has no chat; 20 chunks of the usual length are as many passages as its runs give the generator.
    "kb_max_context_chars": 24_000,
    "kb_large_context_chars": 24_000,
}
"""The reranker stays as it is set: RAG_P leaves it to the user."""

_OF_RAG_P = frozenset(
    """retrieval_k retrieval_pre_fusion_k retrieval_rrf_k retrieval_bm25_weight retrieval_vector_weight
    generation_max_context_chars retrieval_context_max_tokens""".split()
)
"""Variables of RAG_P's own configuration."""

SYSTEMS: Mapping[str, System] = {
    system.name: system
    for system in (
        System(DEFAULT, "The settings in effect", {}),
        System(
            "kb_chat",
            "The KB chat: words of the knowledge base added to every question, five signals, no model before an answer",
            {
                "retrieval_strategy": "KB_CHAT",
                "retrieval_expansion": True,
                "retrieval_stitching": True,
                "query_expansion_llm": False,
                "reranker_enabled": False,
                "kb_top_k": 4,
                "kb_min_score": 0.12,
                "kb_max_context_chars": 3_200,
                "kb_large_context_chars": 6_000,
                "kb_min_evidence": 0.5,
                "kb_doubt_evidence": 1.0,
                "chat_asks_back": False,
                "chat_withholds": False,
            },
        ),
        System(
            "rag_v2",
            "RAG v2: expansion and reranking by a language model, adaptive alpha, a relevance check on two levels",
            {
                "retrieval_strategy": "RAG_V2",
                "query_expansion_llm": True,
                "reranker_enabled": True,
                "reranker_base_url": "",
                "reranker_candidates": 15,
                "reranker_top_n": 5,
                "retrieval_pre_fusion_k": 15,
                "retrieval_fusion": "weighted",
                "kb_top_k": 5,
                "kb_min_score": 0.0,
                "kb_max_context_chars": 6_000,  # five chunks of the usual length
                "kb_large_context_chars": 6_000,
                "kb_min_evidence": 0.15,
                "kb_doubt_evidence": 0.05,
                "kb_sure_evidence": 1.0,
                "llm_temperature": 0.1,
                "ollama_model_name": "llama3.1:8b",
            },
            frozenset({"ollama_model_name"}),
        ),
        System(
            "rag_p_simple_vector",
            "RAG_P with SIMPLE_VECTOR: nearest vectors of ChromaDB alone",
            {
                "retrieval_strategy": "SIMPLE_VECTOR",
                **_RAG_P,
            },
            _OF_RAG_P,
        ),
        System(
            "rag_p_contextual_hybrid",
            "RAG_P with CONTEXTUAL_HYBRID: chunks with a context by a language model, BM25 and vectors fused by rank",
            {
                "retrieval_strategy": "CONTEXTUAL_RRF",
                **_RAG_P,
                "retrieval_fusion": "rrf",
                "retrieval_rrf_k": 60,
                "retrieval_bm25_weight": 0.5,
                "retrieval_vector_weight": 0.5,
                "retrieval_context_max_tokens": 150,
            },
            _OF_RAG_P,
        ),
    )
}
"""Name -> system. Whether a system needs an endpoint or a package is told when it is used, as for any settings."""


def get_system(name: str) -> System:
    """Look up a system by name.

    Raises:
        UnknownChoice: there is no such system.
    """
    if name not in SYSTEMS:
        raise UnknownChoice(kind="preset", found=name, legal=", ".join(SYSTEMS))
    return SYSTEMS[name]


def changes_of(name: str) -> Mapping[str, Any]:
    """Return the changes of a system, for ``LiveSettings``; none for ""."""
    return get_system(name or DEFAULT).changes


def with_system(settings: Settings, name: str, is_set: Callable[[str], bool] = lambda _: False) -> Settings:
    """Return ``settings`` with those of a system in their place.

    Args:
        name: of a system; "" is the same as ``DEFAULT``.
        is_set: as in ``System.over``.

    Raises:
        UnknownChoice: there is no such system.
        InvalidSetting: a value of the system is not legal together with ``settings``.
    """
    changes = get_system(name or DEFAULT).over(is_set)
    return settings.with_changes(**changes) if changes else settings
