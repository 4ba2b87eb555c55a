"""Rank the documents for some queries of a run, and make the records of it. Reads and writes no file of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.chat.followup import Search, find
from chatbot_mvp.datasets import Query
from chatbot_mvp.errors import ChatbotError, ProviderQuotaExhausted
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.remote.failures import concerns_one_request
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.runs.payloads import RETRIEVE
from chatbot_mvp.runs.records import QueryRecord


@dataclass(frozen=True, slots=True)
class Searched:
    """What came of a batch of queries."""

    records: list[QueryRecord]
    """One per query, in order; fewer if a provider's quota ended."""
    refused: str = ""
    """The error of a provider without quota for the remaining queries, else ""."""


def search(run: PreparedRun, pipeline: Pipeline, batch: Sequence[Query], model: Callable[[], ChatModel]) -> Searched:
    """Search a batch of queries. A query whose own request failed has a failed record.

    Args:
        model: as in ``RunCorpus.notes``.

    Raises:
        ChatbotError: every query would fail, for example because of a refused key.
    """
    try:
        searches = _searches(pipeline, batch)
        refused = next((reason for found in searches if (reason := _out_of_quota(found.trace))), "")
        pairs = [pair for pair in zip(batch, searches, strict=True) if not _out_of_quota(pair[1].trace)]
        return Searched([_record(run, query, found, pipeline, model) for query, found in pairs], refused)
    except ProviderQuotaExhausted as error:
        return Searched([], str(error))
    except ChatbotError as error:
        if not concerns_one_request(error):
            raise
        if len(batch) == 1:
            return Searched([QueryRecord(run.manifest.run_id, batch[0].query_id, RETRIEVE, "failed", {}, str(error))])
        # A single query may have made the request fail. Retry one by one, so that the others are not lost.
        records: list[QueryRecord] = []
        for query in batch:
            alone = search(run, pipeline, [query], model)
            records += alone.records
            if alone.refused:
                return Searched(records, alone.refused)
        return Searched(records)


def _searches(pipeline: Pipeline, batch: Sequence[Query]) -> list[Search]:
    """Search each query as the chat does: one with a history as a turn of its conversation, the others together."""
    alone = [query.text for query in batch if not query.history]
    found = iter(pipeline.retrieve(alone) if alone else ())
    return [
        find(pipeline, query.text, query.history) if query.history else Search(query.text, next(found))
        for query in batch
    ]


def _out_of_quota(trace: RetrievalTrace) -> str:
    """Return the error if the provider of reranking or expansion had no quota left for this query, else ""."""
    for record in trace.records:
        if record.notes.get("quota_exhausted"):
            return str(record.notes["error"])
    return ""


def _model_failed(trace: RetrievalTrace) -> str:
    """Return the error if a stage got no reply of the language model about this query, else ""."""
    for record in trace.records:
        if record.notes.get("failed"):
            return str(record.notes["error"])
    return ""


def _without(trace: RetrievalTrace, doc_id: str) -> RetrievalTrace:
    """Return a trace from which a document is left out, wherever a stage found it."""

    def rest(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(hit for hit in hits if hit.chunk.chunk_id != doc_id)

    before = trace.hits_before_rerank
    return replace(
        trace,
        candidates={name: rest(hits) for name, hits in trace.candidates.items()},
        hits=rest(trace.hits),
        hits_before_rerank=None if before is None else rest(before),
        chunks_final=rest(trace.chunks_final),
    )


def _record(
    run: PreparedRun, query: Query, found: Search, pipeline: Pipeline, model: Callable[[], ChatModel]
) -> QueryRecord:
    trace = found.trace
    if error := _model_failed(trace):
        # Without the reply, the ranking is not from the pipeline that the run's fingerprint identifies.
        return QueryRecord(run.manifest.run_id, query.query_id, RETRIEVE, "failed", {}, error)
    if query.query_id in run.dataset.queries_that_are_documents:
        trace = _without(trace, query.query_id)
    hits = trace.retrieved[: run.settings.retrieval_k]
    payload: dict[str, Any] = {
        "doc_ids": _ids(hits),
        "scores": [round(hit.score, 6) for hit in hits],
        "evidence": trace.evidence,
        "topic": trace.topic,
        "seconds": {record.stage: round(record.seconds, 6) for record in trace.records},
        **run.corpus.notes(query, replace(found, trace=trace), pipeline, run.settings, model),
    }
    if query.history:
        payload |= {"search_query": found.query, "search_how": found.how}
    if gold := [doc_id for doc_id, score in run.dataset.qrels.get(query.query_id, {}).items() if score > 0]:
        payload["gold"] = gold_ranks(trace, gold)
    reranked = trace.hits_before_rerank is not None
    if reranked or run.settings.generation_enabled or run.corpus.keeps_context:
        payload["generation_doc_ids"] = _ids(trace.chunks_final)
    if reranked:
        [notes] = [record.notes for record in trace.records if record.stage == "rerank"]
        payload["reranked"] = notes["reranked"]
        payload["rerank_error"] = notes.get("error")
        payload["pre_rerank_candidate_ids"] = list(trace.pre_rerank_candidate_ids)
    return QueryRecord(run.manifest.run_id, query.query_id, RETRIEVE, "ok", payload)


def gold_ranks(trace: RetrievalTrace, gold: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the rank of each relevant document after each stage.

    The result has ``ranks`` (document -> stage -> rank from 1, None if absent) and ``depths`` (stage -> number of
    documents). Stages in order: the retrievers, "ranking" (their merged list), "rerank" (if reranked), "context".

    The graph walk reports only the first few BM25 results; the depth of that stage shows how many.
    """
    stages = {**trace.candidates, "ranking": trace.retrieved}
    if trace.hits_before_rerank is not None:
        stages["rerank"] = trace.hits
    stages["context"] = trace.chunks_final
    order = {name: _ids(hits) for name, hits in stages.items()}
    rank = {name: {doc_id: place for place, doc_id in enumerate(ids, 1)} for name, ids in order.items()}
    return {
        "depths": {name: len(ids) for name, ids in order.items()},
        "ranks": {doc_id: {name: places.get(doc_id) for name, places in rank.items()} for doc_id in gold},
    }


def _ids(hits: Sequence[Hit]) -> list[str]:
    """Return the ids of the chunks; the chunk of a passage has the id of its document."""
    return [hit.chunk.chunk_id for hit in hits]
