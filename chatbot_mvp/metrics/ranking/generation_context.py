"""Metrics of the documents in the generator's context after reranking, as in RAG_P v3.2. Order does not count."""

from __future__ import annotations

from collections.abc import Iterable

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def generation_recall(context: Ranking, qrels: Qrels) -> float | None:
    """|relevant in the context| / |relevant|. Range 0-1; None without relevant documents, 0.0 for an empty context."""
    gold = relevant(qrels)
    return len(gold & set(context)) / len(gold) if gold else None


def generation_hit(context: Ranking, qrels: Qrels) -> float | None:
    """1.0 if a relevant document is in the context, else 0.0. None without relevant documents."""
    gold = relevant(qrels)
    return float(not gold.isdisjoint(context)) if gold else None


def rescued(ranking: Ranking, context: Ranking, qrels: Qrels) -> float | None:
    """1.0 if the ranking before reranking has no relevant document and the context has one, else 0.0.

    None without relevant documents.
    """
    gold = relevant(qrels)
    return float(gold.isdisjoint(ranking) and not gold.isdisjoint(context)) if gold else None


def reranker_rescue_count(queries: Iterable[tuple[Ranking, Ranking, Qrels]]) -> int:
    """Count the queries with recall@``RETRIEVAL_K`` = 0 before reranking and generation_recall > 0 after it.

    Args:
        queries: (first ``RETRIEVAL_K`` before reranking, context after it, qrels) of each query.

    Returns:
        The count over the whole run; 0 if there are no queries.
    """
    return sum(rescued(*query) == 1.0 for query in queries)
