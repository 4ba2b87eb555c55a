"""What the built-in model answers from, for the chat and for all that measures what the chat does."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.chat.nearest import corrected
from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.retrieval.stages.late_interaction import nearness
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Chunk


def grounding_of(
    trace: RetrievalTrace, index: CorpusIndex, passages: Sequence[Chunk], least_proof: float | None
) -> Grounding:
    """Return passages of a trace as the built-in model reads them.

    Args:
        least_proof: as in ``Grounding``.
    """
    asked, _ = corrected(trace.query, trace, index)
    near = nearness(index, asked) if least_proof and passages else None
    language = index.analyzer.language_of(asked)
    closeness, cut = sentence_closeness(trace, index), _cut(index, passages)
    return Grounding(asked, tuple(passages), language, closeness, index.analyzer, near, least_proof, cut)


def _cut(index: CorpusIndex, passages: Sequence[Chunk]) -> frozenset[str]:
    """Return the ids of those passages whose section has a passage before or behind them."""
    found = set()
    for passage in passages:
        row = index.row_of.get(passage.chunk_id)
        beside = () if row is None else index.chunks[max(0, row - 1) : row + 2]
        if sum((one.doc_id, one.section) == (passage.doc_id, passage.section) for one in beside) > 1:
            found.add(passage.chunk_id)
    return frozenset(found)
