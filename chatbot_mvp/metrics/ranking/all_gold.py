"""all-gold@K: whether a multi-hop question got every document that it needs."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def all_gold_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1.0 if every relevant document is among the first k, else 0.0: recall@k = 1.

    The retrieval half of HotpotQA's "both paragraphs" (Xiong et al. 2021 call it PEM, paragraph exact match).
    Range 0-1; None without relevant documents, 0.0 for an empty ranking or for more relevant documents than k.
    """
    gold = relevant(qrels)
    return float(gold <= set(ranking[:k])) if gold else None
