"""The ranking metrics by name, over the first ``RETRIEVAL_K`` documents before reranking.

All are in 0-1 and None (*not scored*) for a query without relevant documents. A document is relevant when its qrel is
above 0. Tested against ir_measures on random runs.
"""

from __future__ import annotations

from chatbot_mvp.metrics.ranking.all_gold import all_gold_at
from chatbot_mvp.metrics.ranking.average_precision import average_precision
from chatbot_mvp.metrics.ranking.generation_context import generation_hit, generation_recall
from chatbot_mvp.metrics.ranking.hit import hit_at
from chatbot_mvp.metrics.ranking.ndcg import ndcg_at
from chatbot_mvp.metrics.ranking.precision import precision_at
from chatbot_mvp.metrics.ranking.recall import complement_recall_at, recall_at
from chatbot_mvp.metrics.ranking.reciprocal_rank import reciprocal_rank
from chatbot_mvp.metrics.ranking.relevance import CUTOFFS, Qrels, Ranking, RankingMetric, at

__all__ = [
    "CONTEXT_METRICS",
    "CUTOFFS",
    "RANKING_METRICS",
    "Qrels",
    "Ranking",
    "applicable_metrics",
    "hit_at",
    "ndcg_at",
    "recall_at",
    "reciprocal_rank",
]

RANKING_METRICS: dict[str, RankingMetric] = {
    **{f"hit@{k}": at(hit_at, k) for k in CUTOFFS},
    **{f"recall@{k}": at(recall_at, k) for k in (1, 2, *CUTOFFS[1:])},
    "mrr": reciprocal_rank,
    **{f"ndcg@{k}": at(ndcg_at, k) for k in CUTOFFS},
    **{f"precision@{k}": at(precision_at, k) for k in CUTOFFS},
    "map": average_precision,
    **{f"all_gold@{k}": at(all_gold_at, k) for k in CUTOFFS},
    **{f"complement_recall@{k}": at(complement_recall_at, k) for k in CUTOFFS},
}
"""Name in run records and exports -> function."""

CONTEXT_METRICS: dict[str, RankingMetric] = {"generation_recall": generation_recall, "generation_hit": generation_hit}
"""Name -> function over the documents in the generator's context. Only runs with a reranker have these metrics."""


def applicable_metrics(depth: int) -> list[str]:
    """List the ranking metrics whose cutoff is at most ``depth``, the number of documents in the rankings."""
    return [name for name in RANKING_METRICS if "@" not in name or int(name.split("@")[1]) <= depth]
