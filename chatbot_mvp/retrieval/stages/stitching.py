"""Section stitching: the neighbours of a hit that surely is about the question join the context."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import RetrievalConfig, Stage
from chatbot_mvp.retrieval.stages.context import ContextChars
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.types import Chunk

_TOP_HITS = 3
"""Only the first hits may bring their neighbours."""
STRONG_COVERAGE = 0.9
"""A hit with at least this share of the question's idf weight is a ``strong_match``."""

STRONG_EXACT = 0.34
"""From this share on, the question's neighbouring terms that stand together in a hit are a strong signal (``exact``).

One pair in common is chance in a long question: any pair at all fired for 21 % of XQuAD's questions, this for 12 %, and
the paragraph that answers was in the context as often."""


class Stitching(Stage):
    """Adds contiguous chunks of a strong hit's section to ``chunks_final``, as far as the budget goes.

    Strong are ``heading_bonus`` > 0, ``exact_bonus`` from STRONG_EXACT on, or a passage with nearly all of the
    question's idf weight.
    The nearest neighbours come first, the following one before the preceding one, since an explanation runs on; a
    direction ends at the section's end or at the first chunk that does not fit, so that what is added is contiguous.
    The found hits keep their places and so their citation numbers; behind them stand the added chunks, hit by hit,
    each hit's in reading order. An added chunk has the signal ``stitched`` = 1.
    """

    name = "stitching"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return any(chunk.chunk_id != chunk.doc_id for chunk in index.chunks)

    def __init__(self, index: CorpusIndex, config: RetrievalConfig) -> None:
        super().__init__(index, config)
        self._runs: dict[str, tuple[int, int, int]] = {}
        """Chunk id -> (its row, first row and last row of its section); chunks alone in theirs are left out."""
        chunks = index.chunks
        first = 0
        for row in range(1, len(chunks) + 1):
            if row < len(chunks) and _same_section(chunks[row], chunks[first]):
                continue
            if row - first > 1:
                self._runs.update({chunks[at].chunk_id: (at, first, row - 1) for at in range(first, row)})
            first = row

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
            for row, direction in _outwards(*self._runs[own]):
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
        """Which strong signal the hit has; "" for none."""
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


def _same_section(one: Chunk, other: Chunk) -> bool:
    return (one.doc_id, one.section) == (other.doc_id, other.section)


def _outwards(row: int, first: int, last: int) -> Iterator[tuple[int, int]]:
    """(neighbour's row, 1 or -1 for its direction), the nearest first, the following one before the preceding one."""
    for distance in range(1, last - first + 1):
        if row + distance <= last:
            yield row + distance, 1
        if row - distance >= first:
            yield row - distance, -1
