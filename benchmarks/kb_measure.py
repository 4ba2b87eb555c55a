"""Figures of one pipeline on questions about a knowledge base, for pipelines and judgements that no run has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chatbot_mvp.evaluation.kb.questions import KbQuestion, auroc, places_of
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Document


@dataclass(frozen=True)
class Asked:
    """What a pipeline found for a question."""

    question: KbQuestion
    expected: bool
    """Whether the question's paragraph is in the knowledge base."""
    rank: int | None
    """Rank from 1 of the first chunk of the context that covers at least half of the paragraph; None if none does."""
    evidence: float
    seconds: float


def expected_places(document: Document, question: KbQuestion) -> tuple[tuple[int, int], ...]:
    return places_of(document.text, question.paragraph) if question.kind in (None, "answerable") else ()


def rank_in(trace: RetrievalTrace, document: Document, question: KbQuestion) -> int | None:
    """Return ``Asked.rank`` for a search that was made."""
    covers = (
        rank
        for rank, hit in enumerate(trace.chunks_final, 1)
        for start, end in expected_places(document, question)
        if 2 * (min(end, hit.chunk.end) - max(start, hit.chunk.start)) >= end - start
    )
    return next(covers, None)


def ask(pipeline: Pipeline, document: Document, question: KbQuestion) -> Asked:
    [trace] = pipeline.retrieve([question.question])
    rank, places = rank_in(trace, document, question), expected_places(document, question)
    evidence = (trace.evidence or 0.0) if trace.chunks_final else 0.0
    seconds = sum(record.seconds for record in trace.records)
    return Asked(question, bool(places), rank, evidence, seconds)


def evaluate_kb(
    pipeline: Pipeline, document: Document, questions: Sequence[KbQuestion], min_evidence: float
) -> dict[str, Any]:
    """Ask each question alone; return the figures that ``kb evaluate`` prints, as far as scripts show them."""
    asked = [ask(pipeline, document, question) for question in questions]
    ranks = [each.rank for each in asked if each.expected]
    evidence: dict[str, list[float]] = {}
    for each in asked:
        if each.question.kind is not None:
            evidence.setdefault(each.question.kind, []).append(each.evidence)
    return {
        "hit@1": _mean([rank == 1 for rank in ranks]),
        "hit@3": _mean([rank is not None and rank <= 3 for rank in ranks]),
        "mrr": _mean([1 / rank if rank else 0.0 for rank in ranks]),
        "scored": len(ranks),
        "accepted": {kind: _mean([value >= min_evidence for value in values]) for kind, values in evidence.items()},
        "auroc": {kind: auroc(evidence.get("answerable", []), evidence.get(kind, [])) for kind in ("near", "far")},
        "seconds_per_question_p95": float(np.percentile([each.seconds for each in asked], 95)) if asked else None,
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
