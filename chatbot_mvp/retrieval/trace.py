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
    chunks_final: tuple[Hit, ...] = ()
    """What reaches the answer: a selection of ``hits``, or ``hits`` themselves for a benchmark."""
    context_chars_used: int = 0
    context_chars_budget: int = 0
    evidence: float | None = None
    """0-1: how well ``chunks_final`` cover the question; None when no stage judged it."""
    records: tuple[StageRecord, ...] = ()

    def with_record(self, record: StageRecord, **changes: Any) -> RetrievalTrace:
        """This trace with ``changes`` and one more stage record."""
        return replace(self, records=(*self.records, record), **changes)
