"""Locate the passages that a result's question found and expected in the text of its knowledge base."""

from __future__ import annotations

from chatbot_mvp.chat.citations import Source, quoted_sources
from chatbot_mvp.evaluation.kb.results import KbResult, ResultRow
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.types import Chunk

_AROUND = 600  # characters of the paragraph shown on either side of an expected passage


def found_passages(store: KbStore, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
    """Return the passages found, best first, highlighted as an answer without a model would quote them.

    Empty if the knowledge base's text has changed since the run.

    Raises:
        KbNotFound, KbUnreadable
    """
    record = store.record(result.kb_id)
    if record.sha256 != result.kb_sha256:
        return ()
    text = store.document(result.kb_id).text
    passages = tuple(
        Chunk(one.chunk_id, result.kb_id, one.section, text[one.start : one.end], one.start, one.end)
        for one in row.found
    )
    grounding = Grounding(row.question.question, passages, record.language)
    reply = DemoModel().complete(ChatRequest((), grounding=grounding))
    quoted = {source.number: source for source in quoted_sources(reply.quotes or (), passages)}
    return tuple(quoted.get(number, Source(number, chunk, ())) for number, chunk in enumerate(passages, 1))


def expected_passages(store: KbStore, result: KbResult, row: ResultRow) -> tuple[Source, ...]:
    """Return the first occurrence of the expected passage, highlighted, with its surroundings; empty if it is missing.

    Raises:
        KbNotFound, KbUnreadable
    """
    record = store.record(result.kb_id)
    if record.sha256 != result.kb_sha256 or not row.places:
        return ()
    text = store.document(result.kb_id).text
    start, end = row.places[0]
    before, after = text.rfind("\n\n", 0, start), text.find("\n\n", end)
    begin = max(before + 2 if before >= 0 else 0, start - _AROUND)
    stop = min(after if after >= 0 else len(text), end + _AROUND)
    chunk = Chunk("", result.kb_id, row.question.heading or "", text[begin:stop], begin, stop)
    return (Source(1, chunk, ((start, end),)),)
