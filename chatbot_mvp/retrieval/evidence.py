"""How well the found passages cover a question, from 0 to 1. Nothing in it knows a topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatbot_mvp.retrieval.index import CorpusIndex
from chatbot_mvp.retrieval.trace import Hit

_PASSAGES = 3


def evidence_score(query: str, hits: Sequence[Hit], index: CorpusIndex) -> tuple[float, dict[str, Any]]:
    """The idf-weighted share of the question's terms that one of the best passages has.

    A term that the corpus does not have at all weighs the most, so a question about something else scores low.

    Returns:
        (score in 0-1, notes); 0 for a question without terms or without hits.
    """
    terms = dict.fromkeys(index.analyzer.terms(query))
    weights = {term: index.idf(term) for term in terms}
    total = sum(weights.values())
    if not hits or not total:
        return 0.0, {"terms": len(terms), "missing": sorted(terms)}
    best, best_present = -1.0, set[str]()
    for hit in hits[:_PASSAGES]:
        present = set(index.analyzer.terms(hit.chunk.index_text)) & terms.keys()
        covered = sum(weight for term, weight in weights.items() if term in present)
        if covered > best:
            best, best_present = covered, present
    return min(1.0, best / total), {"terms": len(terms), "missing": sorted(terms.keys() - best_present)}
