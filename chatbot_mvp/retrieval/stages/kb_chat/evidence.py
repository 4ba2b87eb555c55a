"""The rule by which the KB chat decides that the evidence suffices, as a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.kb_chat.score import own_score
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

STRONG_TOP, SUM, TOP = 0.20, 0.85, 0.58
"""Least score of the best hit beside a strong match, sum of the two best scores, score of the best hit alone."""
_SUMMED = 2


class KbChatEvidence(Stage):
    """Judges the evidence by the scores of the selected hits.

    It suffices if there is a strong match and the best score is at least 0.20, or the two best scores add up to 0.85,
    or the best score is at least 0.58. ``evidence`` is 0.5 or more exactly then (see ``degree``); ``topic`` stays None,
    since the rule says nothing about the subject. Chunks that stitching added do not count.
    """

    name = "evidence"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        added = set(trace.chunks_added_by_stitching)
        reached = criteria([hit for hit in trace.chunks_final if hit.chunk.chunk_id not in added])
        notes = {name: round(value, 4) for name, value in reached.items()}
        return replace(trace, evidence=degree(reached.values()), topic=None), notes


def criteria(hits: Sequence[Hit]) -> dict[str, float]:
    """Return how far each criterion is reached, as a multiple of its threshold: ``strong_match``, ``sum``, ``top``."""
    scores = sorted((own_score(hit) for hit in hits), reverse=True)
    top = scores[0] if scores else 0.0
    strong = any(hit.signals.get("strong_match", 0.0) > 0 for hit in hits)
    return {
        "strong_match": top / STRONG_TOP if strong else 0.0,
        "sum": sum(scores[:_SUMMED]) / SUM,
        "top": top / TOP,
    }


def degree(reached: Iterable[float]) -> float:
    """Return the evidence, 0-1, of the best criterion x: x / 2 below 1, and 1 - 1 / (2 x) from 1 on."""
    best = max(reached, default=0.0)
    return best / 2 if best < 1 else 1 - 1 / (2 * best)
