"""The types of ranking metrics: a ranked list of distinct document ids, and the judgements of one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Ranking = Sequence[str]
"""Distinct document ids, best first."""

Qrels = Mapping[str, int]
"""doc_id -> relevance grade; missing documents have grade 0."""

RankingMetric = Callable[[Ranking, Qrels], float | None]
"""Scores one query; None (*not scored*) if the query has no relevant document."""

CUTOFFS = (1, 3, 5, 10, 20)


def relevant(qrels: Qrels) -> set[str]:
    """Return the documents with a grade above 0."""
    return {doc_id for doc_id, score in qrels.items() if score > 0}


def at(function: Callable[[int, Ranking, Qrels], float | None], k: int) -> RankingMetric:
    """Bind the cutoff ``k`` of a metric."""
    return lambda ranking, qrels: function(k, ranking, qrels)
