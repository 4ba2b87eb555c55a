"""Average precision, whose mean is MAP."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def average_precision(ranking: Ranking, qrels: Qrels) -> float | None:
    """(Sum of the precision at the rank of each retrieved relevant document) / |relevant| (Buckley & Voorhees 2000).

    Uses the whole ranking (``RETRIEVAL_K`` documents). Range 0-1; None without relevant documents, 0.0 for an empty
    ranking. Equals ``AP`` of ir_measures.
    """
    gold = relevant(qrels)
    if not gold:
        return None
    found, total = 0, 0.0
    for rank, doc_id in enumerate(ranking, 1):
        if doc_id in gold:
            found += 1
            total += found / rank
    return total / len(gold)
