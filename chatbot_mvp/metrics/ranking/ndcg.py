"""Normalised discounted cumulative gain."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def ndcg_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """DCG@k / ideal DCG@k with DCG = sum of gain / log2(rank + 1) and the qrel as gain (Järvelin & Kekäläinen 2002).

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``nDCG@k`` of ir_measures.
    """
    if not relevant(qrels):
        return None
    gains = [max(0, qrels.get(doc_id, 0)) for doc_id in ranking[:k]]
    ideal = sorted((max(0, gain) for gain in qrels.values()), reverse=True)[:k]
    return _dcg(gains) / _dcg(ideal)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
