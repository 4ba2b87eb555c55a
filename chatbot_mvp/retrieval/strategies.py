"""The registry of retrieval strategies. A strategy is data: its name, its stages, what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.expansion import Expansion
from chatbot_mvp.retrieval.kb_score import KbScore
from chatbot_mvp.retrieval.stages import Dense, Evidence, Fusion, Lexical, Selection, Stage


@dataclass(frozen=True)
class Strategy:
    """An ordered list of stages under a name."""

    name: str
    summary: str
    stages: tuple[type[Stage], ...]
    needs_vectors: bool


_JUDGE = (Selection, Evidence)

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("LEXICAL", "BM25 alone; needs no vectors", (Expansion, Lexical, KbScore, *_JUDGE), False),
        Strategy("SIMPLE_VECTOR", "Nearest vectors alone (exact cosine)", (Dense, *_JUDGE), True),
        Strategy("HYBRID", "BM25 and vectors, fused", (Expansion, Lexical, Dense, Fusion, KbScore, *_JUDGE), True),
    )
}


def get_strategy(name: str) -> Strategy:
    """
    Raises:
        UnknownChoice: no such strategy.
    """
    if name not in STRATEGIES:
        raise UnknownChoice(kind="retrieval strategy", found=name, legal=", ".join(STRATEGIES))
    return STRATEGIES[name]
