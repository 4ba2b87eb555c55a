"""Recall@K and its complement."""

from __future__ import annotations

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def recall_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """|relevant among the first k| / |relevant| (Manning et al. 2008, 8.3).

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``R@k`` of ir_measures.
    """
    gold = relevant(qrels)
    return len(gold & set(ranking[:k])) / len(gold) if gold else None


def complement_recall_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1 - recall@k: the share of relevant documents that are not among the first k.

    RAG_P first called its mean ``failure_rate_at_k``, later ``complement_recall_at_k``. It is not the share of queries
    without any hit. Range 0-1, lower is better; None without relevant documents, 1.0 for an empty ranking.
    """
    recall = recall_at(k, ranking, qrels)
    return None if recall is None else 1.0 - recall
