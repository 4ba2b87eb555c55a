"""Hit@K, also called success@K: whether anything relevant was found."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def hit_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1.0 if a relevant document is among the first k, else 0.0.

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``Success@k`` of ir_measures.
    """
    gold = relevant(qrels)
    return float(any(doc_id in gold for doc_id in ranking[:k])) if gold else None
