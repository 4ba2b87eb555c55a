"""The registry of retrieval strategies. A strategy is data: a name, its stages, and the resources it needs."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.stages.base import Dense, Evidence, Fusion, Lexical, Selection, Stage
from chatbot_mvp.retrieval.stages.bridge import Bridge
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.kb_score import KbScore
from chatbot_mvp.retrieval.stages.stitching import Stitching


@dataclass(frozen=True)
class Strategy:
    """A named, ordered list of stages."""

    name: str
    summary: str
    stages: tuple[type[Stage], ...]
    needs_vectors: bool
    needs_links: bool = False
    needs_language_model: bool = False
    """True if a language model writes a context for each chunk before indexing (see ``indexes.enrichment``)."""


_JUDGE = (Selection, Stitching, Evidence)

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("LEXICAL", "BM25 alone; needs no vectors", (Expansion, Lexical, KbScore, *_JUDGE), False),
        Strategy("SIMPLE_VECTOR", "Nearest vectors alone (exact cosine)", (Dense, *_JUDGE), True),
        Strategy("HYBRID", "BM25 and vectors, fused", (Expansion, Lexical, Dense, Fusion, KbScore, *_JUDGE), True),
        Strategy(
            "CONTEXTUAL_HYBRID",
            "HYBRID over chunks with a context that a language model writes for each",
            (Expansion, Lexical, Dense, Fusion, KbScore, *_JUDGE),
            True,
            needs_language_model=True,
        ),
        Strategy(
            "BRIDGE", "BM25 and a walk over who mentions whom", (Expansion, Bridge, KbScore, *_JUDGE), False, True
        ),
        Strategy(
            "BRIDGE_HYBRID",
            "BRIDGE with vectors",
            (Expansion, Dense, Bridge, KbScore, *_JUDGE),
            needs_vectors=True,
            needs_links=True,
        ),
    )
}


def get_strategy(name: str) -> Strategy:
    """Look up a strategy by name.

    Raises:
        UnknownChoice: no strategy has this name.
    """
    if name not in STRATEGIES:
        raise UnknownChoice(kind="retrieval strategy", found=name, legal=", ".join(STRATEGIES))
    return STRATEGIES[name]
