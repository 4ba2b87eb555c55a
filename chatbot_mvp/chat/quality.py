"""The figures beside an answer and how it was found, the same in pages, commands, endpoint and exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chatbot_mvp.retrieval.score_parts import parts_of
from chatbot_mvp.retrieval.stages.conversation import said_before
from chatbot_mvp.retrieval.stages.rerank import Rerank
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace

_CANDIDATES_KEPT = 10

REPHRASE = {
    "es": "Reformule su pregunta con otras palabras.",
    "en": "Rephrase your question in other words.",
}
"""Language -> the hint that follows every fixed reply."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How an answer was found, and what speaks for it."""

    average_relevance: float | None
    """Mean cosine (-1 to 1) of the question and the chunks used; None without vectors."""
    evidence: float
    """Evidence score, 0-1."""
    relevance: float | None
    """The model's rating of the chunks, 0-10; None if no model was asked or its rating was unreadable."""
    query_expanded: bool
    """Whether words were added to the question for the search."""
    reranked: bool
    """Whether a reranker ordered the chunks."""
    model: str | None
    """Model that answered; None if none did."""
    seconds: float
    """Time from the question to the end of the answer."""


def average_relevance(trace: RetrievalTrace) -> float | None:
    """Return the mean cosine (-1 to 1) of the question and the selected chunks; None without vectors."""
    cosines = {hit.chunk.chunk_id: hit.score for hit in trace.candidates.get("vector", ())}
    of_hits = [hit.signals.get("cosine", cosines.get(hit.chunk.chunk_id)) for hit in trace.chunks_final]
    found = [cosine for cosine in of_hits if cosine is not None]
    return round(sum(found) / len(found), 4) if found else None


def was_reranked(trace: RetrievalTrace) -> bool:
    """Return whether a reranker ordered the hits; False too if it failed, so that their order was kept."""
    return any(record.stage == Rerank.name and record.notes.get("reranked") for record in trace.records)


def rephrase(language: str) -> str:
    """Return the hint to rephrase a question that got no answer, in English for a language without one."""
    return REPHRASE.get(language, REPHRASE["en"])


def debug_values(trace: RetrievalTrace) -> dict[str, Any]:
    """Extract from a trace how its chunks were found, for the debug panel, under the names of ``RetrievalTrace``."""

    def shown(hit: Hit) -> dict[str, Any]:
        return {
            "chunk_id": hit.chunk.chunk_id,
            "section": hit.chunk.section,
            "score": round(hit.score, 4),
            "signals": {name: round(value, 4) for name, value in hit.signals.items() if not name.startswith(PART)},
            "parts": {name: round(value, 4) for name, value in parts_of(hit, trace).items()},
        }

    return {
        "query": trace.query,
        "query_expanded": trace.query_expanded,
        "expansion_notes": list(trace.expansion_notes),
        "candidates": [shown(hit) for hit in trace.hits[:_CANDIDATES_KEPT]],
        "chunks_final": [shown(hit) for hit in trace.chunks_final],
        "chunks_added_by_stitching": list(trace.chunks_added_by_stitching),
        "stitching_added_count": trace.stitching_added_count,
        "context_chars_used": trace.context_chars_used,
        "context_chars_budget": trace.context_chars_budget,
        "evidence": trace.evidence,
        "topic": trace.topic,
        "reranked": was_reranked(trace),
        "stage_errors": [
            {"stage": record.stage, "error": str(record.notes["error"])}
            for record in trace.records
            if record.notes.get("error")
        ],
        "timings": [{"stage": record.stage, "seconds": round(record.seconds, 5)} for record in trace.records],
        "earlier": [{"text": said.text, "weight": round(said.weight, 4)} for said in said_before(trace)],
    }
