"""Section stitching: add the neighbouring chunks of strong hits to the context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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
        added: dict[str, list[int]] = defaultdict(list)
        context = ContextChars(hit.chunk for hit in trace.chunks_final)
        taken = {hit.chunk.chunk_id for hit in trace.chunks_final}
        for hit in trace.chunks_final[:_TOP_HITS]:
            own = hit.chunk.chunk_id
            if own not in self._runs or not (reason := self._strength(trace.query, hit)):
                continue
            reasons[own] = reason
            blocked: set[int] = set()
            for row, direction in outwards(*self._runs[own]):
                chunk = self.index.chunks[row]
                if direction in blocked or chunk.chunk_id in taken:
                    continue
                if context.used + context.cost(chunk) > trace.context_chars_budget:
                    blocked.add(direction)
                    continue
                context.add(chunk)
                taken.add(chunk.chunk_id)
                added[own].append(row)
        found = {hit.chunk.chunk_id: hit for hit in trace.hits} if added else {}
        stitched = [self._stitched(row, found) for rows in added.values() for row in sorted(rows)]
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

    def _stitched(self, row: int, found: dict[str, Hit]) -> Hit:
        chunk = self.index.chunks[row]
        own = found.get(chunk.chunk_id, Hit(chunk, 0.0))
        return replace(own, signals={**own.signals, "stitched": 1.0})


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


def outwards(row: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield (row, direction) of the neighbours, nearest first; direction is 1 (following) or -1 (preceding)."""
    for distance in range(1, last - first + 1):
        if row + distance <= last:
            yield row + distance, 1
        if row - distance >= first:
            yield row - distance, -1
