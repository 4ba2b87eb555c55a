"""The retrieval phase of a run: rank the documents for each query that has no ranking yet."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict
from functools import partial

from chatbot_mvp.errors import RunError
from chatbot_mvp.evaluation.benchmark.engine import Engine
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.types import Progress, ProgressCallback

_log = logging.getLogger(__name__)

PHASE = RETRIEVE
RETRIEVAL_CALLS = "retrieval"
"""Name in a run's usage for the language model requests of enrichment, questions, expansion and reranking."""

QUESTIONS_CHECKED = "questions_checked"
"""Event with the ``QuestionCounts`` of the questions that a model wrote for the documents."""


def retrieve(
    run: PreparedRun, journal: Journal, engine: Engine, spending: Spending, progress: ProgressCallback
) -> None:
    """Retrieve for all queries without a ranking, and record the rankings.

    Args:
        engine: builds the indexes and searches, unless every query has a ranking.
        spending: counts language model replies, both while the indexes are built and during the search.

    Raises:
        RunError (run_out_of_quota): a provider used in retrieval has no quota left; the records stay.
    """
    missing = journal.missing(PHASE, run.query_ids)
    if not missing:
        return
    progress(Progress("index", 0, len(run.dataset.documents)))
    questions = engine.prepare(missing, progress, partial(spending.seen, RETRIEVAL_CALLS))
    if questions is not None:
        run.folder.event(QUESTIONS_CHECKED, **asdict(questions))
    total, before = len(run.queries), len(run.queries) - len(missing)
    done = before
    started = time.monotonic()
    progress(Progress(PHASE, before, total, 0.0, before))
    for found in engine.search(engine.shards(missing)):
        journal.add(found.records)
        for record in found.records:
            _warn(record)
        engine.recorded(PHASE, [record.query_id for record in found.records])
        done += len(found.records)
        if found.refused:
            raise RunError("run_out_of_quota", run_id=run.manifest.run_id, done=done, total=total, reason=found.refused)
        progress(Progress(PHASE, done, total, time.monotonic() - started, before, failed=journal.failed(PHASE)))


def _warn(record: QueryRecord) -> None:
    """Name a query whose reranking failed: its context has the order that it had before."""
    if reason := retrieved_of(record).rerank_error:
        _log.warning("query %r was not reranked, and its passages keep their order: %s", record.query_id, reason)
