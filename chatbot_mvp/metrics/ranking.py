"""Ranking metrics over one query: a ranked list of distinct document ids and its qrels.

All are in 0-1 and None (*not scored*) for a query without relevant documents. A document is relevant when its qrel is
above 0. Tested against ir_measures on random runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Ranking = Sequence[str]
Qrels = Mapping[str, int]
"""doc_id -> graded relevance; documents that are not in it count as 0."""

CUTOFFS = (1, 3, 5, 10, 20)


def hit_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1.0 if a relevant document is among the first k, else 0.0 (also called success@k)."""
    relevant = _relevant(qrels)
    return float(any(doc_id in relevant for doc_id in ranking[:k])) if relevant else None


def recall_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """|relevant among the first k| / |relevant|."""
    relevant = _relevant(qrels)
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else None


def reciprocal_rank(ranking: Ranking, qrels: Qrels) -> float | None:
    """1 / rank of the first relevant document, 0.0 if none was retrieved; its mean is MRR (Voorhees 1999)."""
    relevant = _relevant(qrels)
    if not relevant:
        return None
    return next((1 / rank for rank, doc_id in enumerate(ranking, 1) if doc_id in relevant), 0.0)


def ndcg_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """DCG@k / ideal DCG@k with DCG = sum of gain / log2(rank + 1) and the qrel as gain (Järvelin & Kekäläinen 2002)."""
    if not _relevant(qrels):
        return None
    gains = [max(0, qrels.get(doc_id, 0)) for doc_id in ranking[:k]]
    ideal = sorted((max(0, gain) for gain in qrels.values()), reverse=True)[:k]
    return _dcg(gains) / _dcg(ideal)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _relevant(qrels: Qrels) -> set[str]:
    return {doc_id for doc_id, score in qrels.items() if score > 0}


def _at(function: Callable[[int, Ranking, Qrels], float | None], k: int) -> Callable[[Ranking, Qrels], float | None]:
    return lambda ranking, qrels: function(k, ranking, qrels)


RANKING_METRICS: dict[str, Callable[[Ranking, Qrels], float | None]] = {
    **{f"hit@{k}": _at(hit_at, k) for k in CUTOFFS},
    **{f"recall@{k}": _at(recall_at, k) for k in (1, 2, *CUTOFFS[1:])},
    "mrr": reciprocal_rank,
    **{f"ndcg@{k}": _at(ndcg_at, k) for k in CUTOFFS},
}
"""Name of a metric as it stands in run records and exports -> its function."""


def applicable_metrics(depth: int) -> list[str]:
    """The metrics that a ranking of ``depth`` documents can be scored with: a cutoff beyond it would be a lie."""
    return [name for name in RANKING_METRICS if "@" not in name or int(name.split("@")[1]) <= depth]
