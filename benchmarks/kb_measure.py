"""Figures of one pipeline on questions about a knowledge base, for pipelines that no run can build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chatbot_mvp.evaluation.kb.questions import KbQuestion, auroc, places_of
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.types import Document


def evaluate_kb(
    pipeline: Pipeline, document: Document, questions: Sequence[KbQuestion], min_evidence: float
) -> dict[str, Any]:
    """Retrieve for each question alone; return hit@1, hit@3, mrr, accepted and auroc as ``kb evaluate`` does."""
    ranks: list[int | None] = []
    evidence: dict[str, list[float]] = {}
    for question in questions:
        [trace] = pipeline.retrieve([question.question])
        if question.kind is not None:
            evidence.setdefault(question.kind, []).append((trace.evidence or 0.0) if trace.chunks_final else 0.0)
        if question.kind in (None, "answerable") and (places := places_of(document.text, question.paragraph)):
            found = [hit.chunk for hit in trace.chunks_final]
            covers = (
                rank
                for rank, chunk in enumerate(found, 1)
                for start, end in places
                if 2 * (min(end, chunk.end) - max(start, chunk.start)) >= end - start
            )
            ranks.append(next(covers, None))
    return {
        "hit@1": _mean([rank == 1 for rank in ranks]),
        "hit@3": _mean([rank is not None and rank <= 3 for rank in ranks]),
        "mrr": _mean([1 / rank if rank else 0.0 for rank in ranks]),
        "scored": len(ranks),
        "accepted": {kind: _mean([value >= min_evidence for value in values]) for kind, values in evidence.items()},
        "auroc": {kind: auroc(evidence.get("answerable", []), evidence.get(kind, [])) for kind in ("near", "far")},
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
