"""What ranking metrics speak of: a ranked list of distinct document ids, and the judgements of one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Ranking = Sequence[str]
"""Document ids, the best first, each once."""

Qrels = Mapping[str, int]
"""doc_id -> graded relevance; documents that are not in it count as 0."""

RankingMetric = Callable[[Ranking, Qrels], float | None]
"""The score of one query; None (*not scored*) when the query has no relevant document."""

CUTOFFS = (1, 3, 5, 10, 20)


def relevant(qrels: Qrels) -> set[str]:
    """The documents whose judgement is above 0."""
    return {doc_id for doc_id, score in qrels.items() if score > 0}


def at(function: Callable[[int, Ranking, Qrels], float | None], k: int) -> RankingMetric:
    """A metric with its cutoff filled in."""
    return lambda ranking, qrels: function(k, ranking, qrels)
