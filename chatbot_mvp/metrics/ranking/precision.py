"""Precision@K."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def precision_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """|relevant among the first k| / k, even if fewer than k were retrieved (Manning et al. 2008, 8.4).

    Range 0-1, at most |relevant| / k; None without relevant documents, 0.0 for an empty ranking. Equals ``P@k`` of
    ir_measures.
    """
    gold = relevant(qrels)
    return len(gold & set(ranking[:k])) / k if gold else None
