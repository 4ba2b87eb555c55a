"""Fusion of keyword and vector scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.trace import Hit

SHORT_QUESTION, LONG_QUESTION = 4, 14  # words
KEYWORD_ALPHA, VECTOR_ALPHA = 0.4, 0.75


def adaptive_alpha(query: str) -> float:
    """Return the weight of the vector score: 0.4 up to 4 words, rising linearly to 0.75 at 14 words and above.

    Short questions are mostly keywords; in longer ones the meaning matters more than the exact words.
    """
    progress = (len(query.split()) - SHORT_QUESTION) / (LONG_QUESTION - SHORT_QUESTION)
    return KEYWORD_ALPHA + (VECTOR_ALPHA - KEYWORD_ALPHA) * min(1.0, max(0.0, progress))


def over_best(scores: Doubles) -> Doubles:
    """Divide scores by the highest one; they stay as they are if it is not above 0."""
    best = float(scores.max()) if len(scores) else 0.0
    return scores / best if best > 0 else scores


def weighted_parts(candidates: Mapping[str, Sequence[Hit]], alpha: float) -> dict[str, dict[str, float]]:
    """Return chunk id -> retriever -> (1 - alpha) x keyword score, or alpha x vector score; both scores in 0-1.

    BM25 scores are divided by the highest one; cosines are scaled so that the worst candidate is 0 and the best is 1.
    """
    parts: dict[str, dict[str, float]] = defaultdict(dict)
    for source, hits in candidates.items():
        if not hits:
            continue
        high = hits[0].score
        low = hits[-1].score if source == "vector" else 0.0
        weight = alpha if source == "vector" else 1 - alpha
        for hit in hits:
            # Equal scores cannot be scaled (a single candidate, for example): all of them count as the best.
            parts[hit.chunk.chunk_id][source] = weight * ((hit.score - low) / (high - low) if high > low else 1.0)
    return parts
