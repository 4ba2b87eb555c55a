"""What the built-in model answers from, for the chat and for all that measures what the chat does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatbot_mvp.chat.dated import date_of
from chatbot_mvp.chat.nearest import corrected
from chatbot_mvp.chat.two_in_one import questions_of
from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.retrieval.stages.late_interaction import nearness
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Chunk


def grounding_of(
    trace: RetrievalTrace,
    index: CorpusIndex,
    passages: Sequence[Chunk],
    least_proof: float | None,
    follows: bool = False,
) -> Grounding:
    """Return passages of a trace as the built-in model reads them.

    Args:
        least_proof: as in ``Grounding``.
        follows: whether the question before was searched with it: that is not asked again.
    """
    asked, _ = corrected(trace.query, trace, index, surely=True)
    parts = questions_of(asked, index.analyzer) if least_proof and not follows else ()
    near = nearness(index, asked) if least_proof and passages and not parts else None
    return Grounding(
        asked,
        tuple(passages),
        index.analyzer.language_of(asked),
        sentence_closeness(trace, index),
        index.analyzer,
        near,
        least_proof,
        _cut(index, passages),
        tuple(date_of(passage.section) for passage in passages),
        tuple(grounding_of(replace(trace, query=part), index, passages, least_proof) for part in parts),
    )


def _cut(index: CorpusIndex, passages: Sequence[Chunk]) -> frozenset[str]:
    """Return the ids of those passages whose section has a passage before or behind them."""
    found = set()
    for passage in passages:
        row = index.row_of.get(passage.chunk_id)
        beside = () if row is None else index.chunks[max(0, row - 1) : row + 2]
        if sum((one.doc_id, one.section) == (passage.doc_id, passage.section) for one in beside) > 1:
            found.add(passage.chunk_id)
    return frozenset(found)
