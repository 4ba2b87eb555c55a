"""The single object that carries a question through all stages, into Chat, run records and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.types import Chunk


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk with its score and what the score is made of."""

    chunk: Chunk
    score: float
    """Comparable within one trace only; higher is better."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """Name of a signal -> its value, e.g. ``bm25``, ``bm25_rank`` (from 1), ``vector``."""


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What one stage did."""

    stage: str
    seconds: float
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RetrievalTrace:
    """One question and all that the stages found for it."""

    query: str
    query_expanded: str = ""
    """The query as searched; "" when it was not expanded."""
    expansion_notes: tuple[str, ...] = ()
    query_vector: Vectors | None = field(default=None, repr=False, compare=False)
    """Shape (dimensions,), unit length; None when no stage needs it."""
    candidates: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict)
    """Name of a retriever -> its hits, best first."""
    hits: tuple[Hit, ...] = ()
    """The one final list before selection, best first."""
    hits_before_rerank: tuple[Hit, ...] | None = None
    """``hits`` as they were before a reranker took its few; None when there was none."""
    chunks_final: tuple[Hit, ...] = ()
    """What reaches the answer: a selection of ``hits``, then the chunks that stitching added."""
    chunks_added_by_stitching: tuple[str, ...] = ()
    """Ids of the chunks of ``chunks_final`` that are there as neighbours of a hit."""
    context_chars_used: int = 0
    """Distinct source characters of ``chunks_final``: what two chunks share counts once."""
    context_chars_budget: int = 0
    """How many of them there may be."""
    evidence: float | None = None
    """0-1: how well ``chunks_final`` cover the question; None when no stage judged it."""
    records: tuple[StageRecord, ...] = ()

    @property
    def retrieved(self) -> tuple[Hit, ...]:
        """What the retrievers found, best first, whatever a reranker made of it: what ranking metrics score."""
        return self.hits if self.hits_before_rerank is None else self.hits_before_rerank

    @property
    def pre_rerank_candidate_ids(self) -> tuple[str, ...]:
        """Chunk ids that a reranker was given, in the order it got them; empty when there was none."""
        return tuple(hit.chunk.chunk_id for hit in self.hits_before_rerank or ())

    @property
    def stitching_added_count(self) -> int:
        return len(self.chunks_added_by_stitching)

    def with_record(self, record: StageRecord, **changes: Any) -> RetrievalTrace:
        """This trace with ``changes`` and one more stage record."""
        return replace(self, records=(*self.records, record), **changes)
