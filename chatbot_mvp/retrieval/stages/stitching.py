"""Section stitching: add the neighbouring chunks of strong hits to the context."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.context import ContextChars
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

_TOP_HITS = 3
"""Number of first hits whose neighbours may be added."""
STRONG_COVERAGE = 0.9
"""A hit that has at least this share of the question's idf weight is strong (``strong_match``)."""

STRONG_EXACT = 0.34
"""A hit whose ``exact_bonus`` is at least this is strong (``exact``).

In a long question a single common pair of terms can be chance. On XQuAD a threshold of any pair fired for 21 % of the
questions, this one for 12 %, and the answering paragraph was in the context equally often."""


class Stitching(Stage):
    """Adds neighbouring chunks of a strong hit's section to ``chunks_final``, within the context budget.

    A hit is strong if its ``heading_bonus`` is above 0, its ``exact_bonus`` is at least STRONG_EXACT, or it has at
    least STRONG_COVERAGE of the question's idf weight. Neighbours are added nearest first, the following chunk before
    the preceding one, because explanations continue forwards. Each direction ends at the section's end or at the first
    chunk that does not fit, so the added chunks are contiguous. Hits keep their positions and therefore their citation
    numbers; added chunks follow, grouped by hit, in reading order, with the signal ``stitched`` = 1.
    """

    name = "stitching"

    @classmethod
    def wanted(cls, config: Settings) -> bool:
        return config.retrieval_stitching

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        self._runs = section_runs(index)

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        reasons: dict[str, str] = {}
        added: dict[str, list[int]] = {}
        context = ContextChars(hit.chunk for hit in trace.chunks_final)
        taken = {hit.chunk.chunk_id for hit in trace.chunks_final}
        for hit in trace.chunks_final[:_TOP_HITS]:
            own = hit.chunk.chunk_id
            if own not in self._runs or not (reason := self._strength(trace.query, hit)):
                continue
            reasons[own] = reason
            added[own] = add_neighbours(self.index.chunks, self._runs[own], context, trace.context_chars_budget, taken)
            taken.update(self.index.chunks[row].chunk_id for row in added[own])
        stitched = stitched_hits(trace, self.index.chunks, added.values())
        following = replace(
            trace,
            chunks_final=(*trace.chunks_final, *stitched),
            chunks_added_by_stitching=tuple(hit.chunk.chunk_id for hit in stitched),
            context_chars_used=context.used,
        )
        return following, {"strong": reasons, "added": len(stitched)}

    def _strength(self, query: str, hit: Hit) -> str:
        """Return the name of the strong signal that the hit has, "" if none."""
        if hit.signals.get("heading_bonus", 0.0) > 0:
            return "heading"
        if hit.signals.get("exact_bonus", 0.0) >= STRONG_EXACT:
            return "exact"
        weights = {term: self.index.idf(term) for term in dict.fromkeys(self.index.analyzer.terms(query))}
        total = sum(weights.values())
        present = set(self.index.analyzer.terms(hit.chunk.index_text)) if total else set()
        covered = sum(weight for term, weight in weights.items() if term in present)
        return "strong_match" if total and covered >= STRONG_COVERAGE * total else ""


def section_runs(index: CorpusIndex) -> dict[str, tuple[int, int, int]]:
    """Return chunk id -> (its row, first row, last row of its section), for sections of at least two chunks."""
    runs: dict[str, tuple[int, int, int]] = {}
    chunks, first = index.chunks, 0
    for row in range(1, len(chunks) + 1):
        if row < len(chunks) and _same_section(chunks[row], chunks[first]):
            continue
        if row - first > 1:
            runs.update({chunks[at].chunk_id: (at, first, row - 1) for at in range(first, row)})
        first = row
    return runs


def _same_section(one: Chunk, other: Chunk) -> bool:
    return (one.doc_id, one.section) == (other.doc_id, other.section)


def add_neighbours(
    chunks: Sequence[Chunk], run: tuple[int, int, int], context: ContextChars, budget: int, taken: Container[str]
) -> list[int]:
    """Add the neighbours of a chunk in its section to a context, nearest first, the following one before the other.

    Each direction ends at the section's end or at the first chunk that does not fit the budget, in characters.

    Args:
        run: (row of the chunk, first row, last row of its section).
        taken: ids of the chunks in the context, which are passed over.

    Returns:
        The rows of the chunks that were added.
    """
    row, first, last = run
    added: list[int] = []
    blocked: set[int] = set()
    for distance in range(1, last - first + 1):
        for direction in (1, -1):
            at = row + direction * distance
            if not first <= at <= last or direction in blocked or chunks[at].chunk_id in taken:
                continue
            if context.fits(chunks[at], budget):
                context.add(chunks[at])
                added.append(at)
            else:
                blocked.add(direction)
    return added


def stitched_hits(trace: RetrievalTrace, chunks: Sequence[Chunk], added: Iterable[Sequence[int]]) -> list[Hit]:
    """Return the hits of the rows added for each hit, in reading order, with the signal ``stitched`` = 1."""
    rows = [row for of_hit in added for row in sorted(of_hit)]
    found = {hit.chunk.chunk_id: hit for hit in trace.hits} if rows else {}
    own = [found.get(chunks[row].chunk_id, Hit(chunks[row], 0.0)) for row in rows]
    return [replace(hit, signals={**hit.signals, "stitched": 1.0}) for hit in own]
