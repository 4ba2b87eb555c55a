"""Fusion of keyword and vector candidates by score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from chatbot_mvp.retrieval.trace import Hit

SHORT_QUESTION, LONG_QUESTION = 4, 14  # words
KEYWORD_ALPHA, VECTOR_ALPHA = 0.4, 0.75


def adaptive_alpha(query: str) -> float:
    """The share of the vectors: 0.4 up to 4 words, rising evenly to 0.75 from 14 words on.

    Few words are keywords; a whole sentence says what it means in more ways than its words.
    """
    progress = (len(query.split()) - SHORT_QUESTION) / (LONG_QUESTION - SHORT_QUESTION)
    return KEYWORD_ALPHA + (VECTOR_ALPHA - KEYWORD_ALPHA) * min(1.0, max(0.0, progress))


def weighted_scores(candidates: Mapping[str, Sequence[Hit]], alpha: float) -> dict[str, float]:
    """Chunk id -> (1 - alpha) x bm25 over the best + alpha x vector from its worst to its best candidate (0-1)."""
    scores: dict[str, float] = defaultdict(float)
    for source, hits in candidates.items():
        if not hits:
            continue
        high = hits[0].score
        low = hits[-1].score if source == "vector" else 0.0
        weight = alpha if source == "vector" else 1 - alpha
        for hit in hits:
            # Where all are equal, a lone candidate among them, they are all the best.
            scores[hit.chunk.chunk_id] += weight * ((hit.score - low) / (high - low) if high > low else 1.0)
    return scores
