"""The figures beside an answer, the same in pages, commands, endpoint and exports; and the hint to rephrase."""

from __future__ import annotations

from dataclasses import dataclass

from chatbot_mvp.retrieval.stages.rerank import Rerank
from chatbot_mvp.retrieval.trace import RetrievalTrace

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
