"""The stages of strategy RAG_V2 that no other strategy has: fusion by an adaptive alpha, and evidence by keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import NearestOnly, Stage
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace

KEYWORD_ALPHA, USUAL_ALPHA, VECTOR_ALPHA = 0.4, 0.6, 0.75
REJECTED_BELOW = 0.05
"""A question with a smaller keyword overlap (0-1) is about something else: level 1 of the relevance check."""


def stepped_alpha(question: str) -> float:
    """Return the weight of the vector score: 0.4 below 5 words, 0.6 up to 10 words, 0.75 above."""
    words = len(question.split())
    return KEYWORD_ALPHA if words < 5 else USUAL_ALPHA if words <= 10 else VECTOR_ALPHA


class ModelExpansion(Expansion):
    """Marks the place of the expansion by a language model. The knowledge base itself adds no words."""

    name = "model_expansion"
    knobs = frozenset()

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return False


class ExpandedNearest(NearestOnly):
    """Finds the ``retrieval_pre_fusion_k`` chunks nearest to the question with its added words."""

    def searched(self, trace: RetrievalTrace) -> str:
        return trace.query_expanded or trace.query


class AdaptiveFusion(Stage):
    """Ranks the candidates by (1 - alpha) x keyword score + alpha x vector score, with ``stepped_alpha``.

    Both lists are scaled to 0-1, from the worst score that was found to the best one; the worst score is 0 if a list is
    shorter than it may be. A candidate that one list lacks has 0 there. Alpha follows the words of the question as it
    was asked. The best ``retrieval_pre_fusion_k`` are kept; ties break by chunk id. Signals: the scaled scores, and
    with the prefix PART what each adds to the score.
    """

    name = "adaptive_fusion"
    knobs = frozenset({"retrieval_pre_fusion_k"})

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        alpha, most = stepped_alpha(trace.query), self.config.retrieval_pre_fusion_k
        complete = min(most, len(self.index.chunks))
        fused: dict[str, Hit] = {}
        for source, hits in trace.candidates.items():
            weight = alpha if source == "vector" else 1 - alpha
            for hit, value in zip(hits, _scaled(hits, whole=len(hits) >= complete), strict=True):
                before = fused.get(hit.chunk.chunk_id, Hit(hit.chunk, 0.0))
                added = {f"{source}_norm": value, f"{PART}{source}_norm": weight * value}
                signals = {**before.signals, **hit.signals, **added}
                fused[hit.chunk.chunk_id] = Hit(hit.chunk, before.score + weight * value, signals)
        ranked = sorted(fused.values(), key=lambda hit: (-hit.score, hit.chunk.chunk_id))
        return replace(trace, hits=tuple(ranked[:most])), {"alpha": alpha, "fused": len(ranked)}


class KeywordOverlap(Stage):
    """Sets the evidence to the keyword overlap: the share (0-1) of the question's keywords that the context has.

    Keywords are the question's terms as BM25 compares them: without stop words, by their stems. The context are the
    selected chunks with their headings. ``topic`` is 0 if the overlap is below REJECTED_BELOW, else 1, so that level 1
    refuses the question as one about something else.
    """

    name = "keyword_overlap"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        terms = dict.fromkeys(self.index.analyzer.terms(trace.query))
        chunks = [hit.chunk for hit in trace.chunks_final]
        present = set[str]().union(*self.index.terms_present(terms, chunks)) if chunks else set[str]()
        missing = sorted(terms.keys() - present)
        overlap = (len(terms) - len(missing)) / len(terms) if terms else 0.0
        topic = 0.0 if overlap < REJECTED_BELOW else 1.0
        return replace(trace, evidence=overlap, topic=topic), {"terms": len(terms), "missing": missing}


def _scaled(hits: Sequence[Hit], whole: bool) -> list[float]:
    """Scale the scores of one list to 0-1.

    Args:
        whole: whether the list is as long as it may be; otherwise all other chunks have the score 0, the worst one.
    """
    high = max((hit.score for hit in hits), default=0.0)
    low = min((hit.score for hit in hits), default=0.0) if whole else 0.0
    # Equal scores cannot be scaled: all of them count as the best.
    return [(hit.score - low) / (high - low) if high > low else 1.0 for hit in hits]
