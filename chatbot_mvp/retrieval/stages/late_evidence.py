"""Evidence features from late interaction: how well the tokens of a question are found in the first passage."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense_side import passage_texts
from chatbot_mvp.retrieval.late.matching import closest_tokens, max_sim
from chatbot_mvp.retrieval.trace import RetrievalTrace

LATE_FEATURES = (
    "late",
    "late_chunk",
    "late_margin",
    "late_lead",
    "late_found",
    "late_missed",
    "late_worst",
    "words",
    "vector_norm",
)
_FOUND, _MISSED = 0.7, 0.4  # cosines of a token with the closest token of the passage
_NEXT = 3


def late_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """Compute the features of a question whose hits ``LateInteraction`` has ranked; {} without its signals.

    A token's cosine below is that with the closest token of the best paragraph of the first final chunk. Shares are of
    the tokens' weights (``LateWeights.shares``).

    - ``late``, ``late_chunk``: ``max_sim`` of the best paragraph of the first chunk, and of all of the chunk.
    - ``late_margin``: ``late`` minus the mean of the next three chunks.
    - ``late_lead``: ``late`` minus that of the best other chunk of the same section, or minus the candidates' mean.
    - ``late_found``, ``late_missed``: share of the tokens with a cosine above 0.7, and below 0.4.
    - ``late_worst``: the lowest cosine of a token that counts more than the average.
    - ``words``, ``vector_norm``: the chunk's signals of that name, relative to the best chunk by each.
    """
    kb, side, question = index.kb, index.dense, trace.query_tokens
    first = trace.chunks_final[0]
    if kb is None or side is None or side.tokens is None or question is None or "late" not in first.signals:
        return {}
    weights = side.tokens.weights
    paragraphs = kb.paragraphs.of(index.row_of[first.chunk.chunk_id])
    tokens = side.tokens.of(passage_texts(kb, paragraphs.tolist()))
    closest, shares = closest_tokens(weights.project(question), tokens), weights.shares(question)
    by_paragraph = max_sim(closest, shares, np.array([len(found) for found in tokens]))
    cosines = closest[:, int(by_paragraph.argmax())]
    late = float(by_paragraph.max())
    others = [hit for hit in trace.hits if "late" in hit.signals and hit.chunk.chunk_id != first.chunk.chunk_id]
    of_others = sorted((hit.signals["late"] for hit in others), reverse=True)
    beside = [hit.signals["late"] for hit in others if hit.chunk.section == first.chunk.section]
    usual = float(np.mean(of_others)) if of_others else 0.0
    return {
        "late": late,
        "late_chunk": first.signals["late_chunk"],
        "late_margin": late - (float(np.mean(of_others[:_NEXT])) if of_others else 0.0),
        "late_lead": late - (max(beside) if beside else usual),
        "late_found": float(shares[cosines > _FOUND].sum()),
        "late_missed": float(shares[cosines < _MISSED].sum()),
        "late_worst": float(cosines[shares >= shares.mean()].min()),
        "words": first.signals["words"],
        "vector_norm": first.signals["vector_norm"],
    }
