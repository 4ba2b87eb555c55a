"""The registry of retrieval strategies. A strategy is data: its name and its stages, which say what they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.retrieval.stages.asking import AskingStage
from chatbot_mvp.retrieval.stages.base import (
    Dense,
    DenseInStore,
    Evidence,
    Fusion,
    Lexical,
    NearestOnly,
    RankFusion,
    Selection,
    Stage,
)
from chatbot_mvp.retrieval.stages.bridge import Bridge
from chatbot_mvp.retrieval.stages.exact import Exact
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.kb_chat.context import KbChatSelection, KbChatStitching
from chatbot_mvp.retrieval.stages.kb_chat.expansion import KbChatExpansion
from chatbot_mvp.retrieval.stages.kb_chat.score import KbChatEvidence, KbChatScore
from chatbot_mvp.retrieval.stages.kb_score import KbScore
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.stages.rag_v2 import AdaptiveFusion, ExpandedNearest, KeywordOverlap, ModelExpansion
from chatbot_mvp.retrieval.stages.stitching import Stitching
from chatbot_mvp.settings.model import Settings


@dataclass(frozen=True)
class Strategy:
    """A named, ordered list of stages."""

    name: str
    summary: str
    stages: tuple[type[Stage], ...]
    writes_contexts: bool = False
    """True if a language model writes a context for each chunk before indexing (see ``indexes.enrichment``)."""
    of_a_system: bool = False
    """True if it repeats another system, to compare with. Its evidence has a scale of its own, so it is a choice of
    presets and not one that a search for a better configuration proposes."""

    @property
    def asking_stages(self) -> tuple[type[AskingStage], ...]:
        """The stages that ask a language model about each question."""
        return tuple(stage for stage in self.stages if issubclass(stage, AskingStage))

    @property
    def needs_language_model(self) -> bool:
        """True if the strategy is nothing without a language model."""
        return self.writes_contexts or bool(self.asking_stages)

    @property
    def needs_vectors(self) -> bool:
        """True if a stage compares embeddings."""
        return any(stage.needs_vectors for stage in self.stages)

    @property
    def searches_kb_vectors(self) -> bool:
        """True if the vector store of a knowledge base is searched; otherwise its vectors are compared in memory."""
        return any(issubclass(stage, Dense) and stage.searches_kb for stage in self.stages)

    @property
    def finds_by_words(self) -> bool:
        """True if a stage finds passages without vectors, so that questions can be answered before they are there."""
        return any(stage.finds_by_words for stage in self.stages)

    @property
    def needs_links(self) -> bool:
        """True if a stage follows links between documents."""
        return any(stage.needs_links for stage in self.stages)

    @property
    def knobs(self) -> frozenset[str]:
        """Settings that have an effect in a run with this strategy, and none with some other strategy."""
        own = _CONTEXT_KNOBS if self.writes_contexts else frozenset()
        found = own.union(*(stage.knobs for stage in self.stages))
        expands = any(issubclass(stage, Expansion) for stage in self.stages)
        return found if expands else found - {"query_expansion_llm"}  # words are added by that stage's neighbour


_CONTEXT_KNOBS = frozenset(
    {"retrieval_context_max_tokens", "retrieval_context_batch_size", "retrieval_context_questions"}
)


_JUDGE = (Selection, Stitching, Evidence)

STRATEGIES: Mapping[str, Strategy] = Registry(
    "strategy",
    Strategy,
    (
        Strategy("LEXICAL", "BM25 alone; needs no vectors", (Expansion, Lexical, KbScore, Exact, *_JUDGE)),
        Strategy("SIMPLE_VECTOR", "Nearest vectors alone (exact cosine)", (NearestOnly, *_JUDGE)),
        Strategy(
            "HYBRID",
            "BM25 and vectors, fused",
            (Expansion, Lexical, Dense, Fusion, KbScore, LateInteraction, Exact, *_JUDGE),
        ),
        Strategy(
            "CONTEXTUAL_HYBRID",
            "HYBRID over chunks with a context that a language model writes for each",
            (Expansion, Lexical, Dense, Fusion, KbScore, LateInteraction, Exact, *_JUDGE),
            writes_contexts=True,
        ),
        Strategy(
            "CONTEXTUAL_RRF",
            "BM25 and vectors over chunks with a model's contexts, merged by rank; nothing reorders them",
            (Lexical, DenseInStore, RankFusion, *_JUDGE),
            writes_contexts=True,
        ),
        Strategy("BRIDGE", "BM25 and a walk over who mentions whom", (Expansion, Bridge, KbScore, Exact, *_JUDGE)),
        Strategy(
            "BRIDGE_HYBRID",
            "BRIDGE with vectors",
            (Expansion, Dense, Bridge, KbScore, LateInteraction, Exact, *_JUDGE),
        ),
        Strategy(
            "KB_CHAT",
            "The KB chat: every question expanded by the text, five signals of words and headings; needs no vectors",
            (KbChatExpansion, KbChatScore, KbChatSelection, KbChatStitching, KbChatEvidence),
            of_a_system=True,
        ),
        Strategy(
            "RAG_V2",
            "BM25 and vectors, fused by an alpha that follows the question's length; evidence by keywords",
            (ModelExpansion, Lexical, ExpandedNearest, AdaptiveFusion, Selection, KeywordOverlap),
            of_a_system=True,
        ),
    ),
    lambda strategy: "" if strategy.stages else "it has no stages",
)
"""Value of RETRIEVAL_STRATEGY -> the strategy."""


def get_strategy(name: str) -> Strategy:
    """Look up a strategy by name.

    Raises:
        UnknownChoice: no strategy has this name.
    """
    if name not in STRATEGIES:
        raise UnknownChoice(kind="retrieval strategy", found=name, legal=", ".join(STRATEGIES))
    return STRATEGIES[name]


def asks_while_searching(settings: Settings) -> bool:
    """Return whether a search may ask the provider's language model, or a reranker."""
    strategy = get_strategy(settings.retrieval_strategy)
    return bool(strategy.asking_stages) or settings.query_expansion_llm or settings.reranker_enabled
