"""The retrieval phase of a run: rank the documents for each query that has no ranking yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from chatbot_mvp.datasets import Query
from chatbot_mvp.errors import ChatbotError, ProviderQuotaExhausted, RunOutOfQuota
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.remote.failures import concerns_one_request
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.llm_expansion import LlmExpansion
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import RETRIEVE
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.types import Progress, ProgressCallback

PHASE = RETRIEVE
RETRIEVAL_CALLS = "retrieval"
"""Name in a run's usage for the language model requests of enrichment, questions, expansion and reranking."""

QUESTIONS_CHECKED = "questions_checked"
"""Event with the ``QuestionCounts`` of the questions that a model wrote for the documents."""


def retrieve(
    run: PreparedRun, journal: Journal, factory: PipelineFactory, spending: Spending, progress: ProgressCallback
) -> None:
    """Retrieve for all queries without a ranking, and record the rankings.

    Args:
        factory: builds the pipeline over the run's documents, unless every query has a ranking.
        spending: counts language model replies, both while the pipeline is built and while it searches.

    Raises:
        RunOutOfQuota: a provider used in retrieval has no quota left; the records stay.
    """
    missing = set(journal.missing(PHASE, run.query_ids))
    if not missing:
        return
    progress(Progress("index", 0, len(run.dataset.documents)))
    pipeline = run.corpus.pipeline(factory, run.settings, progress, partial(spending.seen, RETRIEVAL_CALLS))
    if (questions := pipeline.index.questions) is not None:
        run.folder.event(QUESTIONS_CHECKED, **asdict(questions))
    queries = [query for query in run.queries if query.query_id in missing]
    total, before = len(run.queries), len(run.queries) - len(missing)
    size = run.corpus.batch
    if size > 1:
        pipeline.embed_queries([query.text for query in queries], progress)
    started = time.monotonic()
    progress(Progress(PHASE, before, total, 0.0, before))
    for begin in range(0, len(queries), size):
        batch = queries[begin : begin + size]
        records, refused = _batch(run, pipeline, batch)
        journal.add(records)
        done = before + begin + len(records)
        if refused:
            raise RunOutOfQuota(run_id=run.manifest.run_id, done=done, total=total, reason=refused)
        progress(Progress(PHASE, done, total, time.monotonic() - started, before, failed=journal.failed(PHASE)))


def _batch(run: PreparedRun, pipeline: Pipeline, batch: Sequence[Query]) -> tuple[list[QueryRecord], str]:
    """Return (records of a batch, error of a provider without quota for the remaining queries, else "")."""
    try:
        traces = pipeline.retrieve([query.text for query in batch])
    except ProviderQuotaExhausted as error:
        return [], str(error)
    except ChatbotError as error:
        if not concerns_one_request(error):
            raise
        if len(batch) == 1:
            return [QueryRecord(run.manifest.run_id, batch[0].query_id, PHASE, "failed", {}, str(error))], ""
        # A single query may have made the request fail. Retry one by one, so that the others are not lost.
        records: list[QueryRecord] = []
        for query in batch:
            alone, refused = _batch(run, pipeline, [query])
            records += alone
            if refused:
                return records, refused
        return records, ""
    refused = next((reason for trace in traces if (reason := _out_of_quota(trace))), "")
    done = [_record(run, query, trace) for query, trace in zip(batch, traces, strict=True) if not _out_of_quota(trace)]
    return done, refused


def _out_of_quota(trace: RetrievalTrace) -> str:
    """Return the error if the provider of reranking or expansion had no quota left for this query, else ""."""
    for record in trace.records:
        if record.notes.get("quota_exhausted"):
            return str(record.notes["error"])
    return ""


def _failed_expansion(trace: RetrievalTrace) -> str:
    """Return the error if the language model failed to expand this query, else ""."""
    for record in trace.records:
        if record.stage == LlmExpansion.name and record.notes["failed"]:
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


def _record(run: PreparedRun, query: Query, trace: RetrievalTrace) -> QueryRecord:
    if query.query_id in run.dataset.queries_that_are_documents:
        trace = _without(trace, query.query_id)
    if error := _failed_expansion(trace):
        # Without the expansion, the ranking is not from the pipeline that the run's fingerprint identifies.
        return QueryRecord(run.manifest.run_id, query.query_id, PHASE, "failed", {}, error)
    hits = trace.retrieved[: run.settings.retrieval_k]
    payload: dict[str, Any] = {
        "doc_ids": _ids(hits),
        "scores": [round(hit.score, 6) for hit in hits],
        "evidence": trace.evidence,
        "topic": trace.topic,
        "seconds": {record.stage: round(record.seconds, 6) for record in trace.records},
        **run.corpus.notes(query.query_id, trace),
    }
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
    return QueryRecord(run.manifest.run_id, query.query_id, PHASE, "ok", payload)


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
