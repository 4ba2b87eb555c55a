"""The trace: one immutable object that carries a question and its results through all stages.

Chat, run records and exports read the same object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chatbot_mvp.embedding.base import TokenStates, Vectors
from chatbot_mvp.types import Chunk

PART = "part_"
"""Prefix of the signals that add up to a hit's score."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk with its score and the signals behind the score."""

    chunk: Chunk
    score: float
    """Higher is better. Comparable within one trace only."""
    signals: Mapping[str, float] = field(default_factory=dict)
    """Signal name -> value, for example ``bm25`` (score), ``bm25_rank`` (from 1) or ``vector`` (cosine)."""


def hits_of(
    chunks: Sequence[Chunk], rows: Sequence[int], scores: Sequence[float], signals: Mapping[str, Sequence[float]]
) -> tuple[Hit, ...]:
    """Return the hits of some rows of ``chunks``, given their scores and the values of each signal, in their order."""
    columns = zip(rows, scores, *signals.values(), strict=True)
    return tuple(Hit(chunks[row], score, dict(zip(signals, values, strict=True))) for row, score, *values in columns)


@dataclass(frozen=True, slots=True)
class StageRecord:
    """The time and the notes of one stage."""

    stage: str
    seconds: float
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Something that was said before the question."""

    text: str
    weight: float
    """How much it counts in the ranking, above 0; the question itself counts 1."""


@dataclass(frozen=True, slots=True)
class RetrievalTrace:
    """One question and everything that the stages found for it."""

    query: str
    query_expanded: str = ""
    """The query with added words, as searched; "" if it was not expanded."""
    expansion_notes: tuple[str, ...] = ()
    """One note "source: word" for each added word."""
    earlier: tuple[Earlier, ...] = ()
    """What was said before, oldest first; empty for a question that is asked alone."""
    query_vector: Vectors | None = field(default=None, repr=False, compare=False)
    """Embedding of the query, shape (dimensions,), unit length; None if no stage needs vectors."""
    query_tokens: TokenStates | None = field(default=None, repr=False, compare=False)
    """Tokens of the query as the embedding model reads them; None if no stage needs them."""
    candidates: Mapping[str, tuple[Hit, ...]] = field(default_factory=dict)
    """Name of a retriever -> its hits, best first."""
    hits: tuple[Hit, ...] = ()
    """The final ranking, best first. ``chunks_final`` is selected from it."""
    hits_before_rerank: tuple[Hit, ...] | None = None
    """``hits`` before reranking cut and reordered them; None if the pipeline has no reranker."""
    pre_rerank_candidate_ids: tuple[str, ...] = ()
    """Ids of the chunks that were sent to the reranker, in their order before reranking; empty if nothing was sent."""
    chunks_final: tuple[Hit, ...] = ()
    """The context of the answer: a selection of ``hits``, then the chunks that stitching added."""
    chunks_added_by_stitching: tuple[str, ...] = ()
    """Ids of the chunks in ``chunks_final`` that were added as neighbours of a hit."""
    context_chars_used: int = 0
    """Distinct source characters of ``chunks_final``. Characters that two chunks share count once."""
    context_chars_budget: int = 0
    """Upper limit of ``context_chars_used``; a single first hit may exceed it."""
    evidence: float | None = None
    """How well ``chunks_final`` cover the question, 0-1; None if no stage judged it."""
    topic: float | None = None
    """Whether the question is about a subject of the corpus at all, 0-1; None if no stage judged it."""
    records: tuple[StageRecord, ...] = ()
    """One record per stage, in the order of execution."""

    @property
    def retrieved(self) -> tuple[Hit, ...]:
        """The hits of the retrievers before any reranking, best first. Ranking metrics score this list."""
        return self.hits if self.hits_before_rerank is None else self.hits_before_rerank

    @property
    def stitching_added_count(self) -> int:
        return len(self.chunks_added_by_stitching)

    def with_record(self, record: StageRecord) -> RetrievalTrace:
        """Return a copy of this trace with ``record`` appended."""
        return replace(self, records=(*self.records, record))
