"""Reciprocal rank, whose mean is MRR."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def reciprocal_rank(ranking: Ranking, qrels: Qrels) -> float | None:
    """1 / rank of the first relevant document, 0.0 if none was retrieved (Voorhees 1999).

    Range 0-1; None without relevant documents. Equals ``RR`` of ir_measures.
    """
    gold = relevant(qrels)
    if not gold:
        return None
    return next((1 / rank for rank, doc_id in enumerate(ranking, 1) if doc_id in gold), 0.0)
