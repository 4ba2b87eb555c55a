"""The types of ranking metrics: a ranked list of distinct document ids, and the judgements of one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Ranking = Sequence[str]
"""Distinct document ids, best first."""

Qrels = Mapping[str, int]
"""doc_id -> relevance grade; missing documents have grade 0."""

CUTOFFS = (1, 3, 5, 10, 20)


def relevant(qrels: Qrels) -> set[str]:
    """Return the documents with a grade above 0."""
    return {doc_id for doc_id, score in qrels.items() if score > 0}
