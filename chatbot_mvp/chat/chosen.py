"""An answer from the one passage that a person chose. Nothing has decided that it answers, and the page says so."""

from __future__ import annotations

from dataclasses import replace

from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.relevance import Decision
from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.llm.base import Completion, Quote
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.types import Chunk


def search_of(search: Search, passage: Chunk, index: CorpusIndex) -> Search:
    """Return a search as if it had found nothing but the passage.

    Raises:
        ConfigurationError (passage_changed): the text no longer stands where it stood.
    """
    row = index.row_of.get(passage.chunk_id)
    chunk = None if row is None else index.chunks[row]
    if chunk is None or chunk.text[passage.start - chunk.start : passage.end - chunk.start] != passage.text:
        raise ConfigurationError("passage_changed", chunk_id=passage.chunk_id)
    trace = search.trace
    found = next((hit for hit in trace.chunks_final if hit.chunk.chunk_id == passage.chunk_id), Hit(passage, 0.0))
    only = replace(
        trace,
        chunks_final=(replace(found, chunk=passage),),
        chunks_added_by_stitching=(),
        context_chars_used=len(passage.text),
    )
    return replace(search, trace=only)


def decision_for(search: Search, min_evidence: float) -> Decision:
    """Return the decision that the person took."""
    return Decision("answered", search.trace.evidence or 0.0, min_evidence, "chosen")


def quoted_whole(completion: Completion, passage: Chunk) -> Completion:
    """Return a reply of the built-in model that quotes the passage as it stands, if it found no sentence to quote."""
    if completion.text:
        return completion
    return replace(completion, text=f"{passage.text} [1]", quotes=(Quote(1, 0, len(passage.text)),))
