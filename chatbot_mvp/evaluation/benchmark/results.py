"""Compute the result in ``<run_id>.json`` from the records of a run: ids and figures, but no text of the corpus."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from chatbot_mvp.datasets import Query
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.metrics.answers.text import OFFICIAL, RULES, AnswerCase
from chatbot_mvp.metrics.registry import metrics_of
from chatbot_mvp.retrieval.indexes.questions import QuestionCounts
from chatbot_mvp.runs.causes import cause_of
from chatbot_mvp.runs.figures import answer_metrics, result_of_rows
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVE, Retrieved, generated_of, judged_of, retrieved_of
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Metrics, QueryRow
from chatbot_mvp.types import ProgressCallback

SIMILARITY_PHASE = "similarity"
QUESTIONS_CHECKED = "questions_checked"
"""Event with the ``QuestionCounts`` of the questions that a model wrote for the documents."""


def rows_of(run: PreparedRun, journal: Journal) -> list[QueryRow]:
    """Return one row per query, in the order of the queries. The metrics of a failed phase are not scored."""
    # Without a reranker or answers, the context of a question is the one that the chat would use.
    cut = run.settings.reranker_top_n if run.settings.reranker_enabled else run.settings.kb_top_k
    rows = []
    for query in run.queries:
        record = journal.of(RETRIEVE)[query.query_id]
        retrieved = retrieved_of(record)
        row = _ranking_row(run, query, record, retrieved)
        if run.settings.generation_enabled:
            row = _answered_row(run, journal, query, row)
        # In a KB run the row has the context; a passage that stands below it was found nevertheless.
        ranked = replace(row, retrieved=retrieved.doc_ids)
        cause = cause_of(ranked, cut, run.language, retrieved.pre_rerank_candidate_ids)
        rows.append(replace(row, cause=cause.value))
    return rows


def _ranking_row(run: PreparedRun, query: Query, record: QueryRecord, retrieved: Retrieved) -> QueryRow:
    failed = record.status == "failed"
    scored = run.corpus.scored(query, None if failed else retrieved, run.settings)
    return QueryRow(
        query_id=query.query_id,
        question=query.text,
        answer=query.answer,
        answer_type=query.answer_type,
        question_type=query.question_type,
        level=query.level,
        metrics=scored.metrics,
        evidence=scored.evidence,
        retrieved=scored.ranking,
        gold=scored.gold,
        generation_doc_ids=retrieved.generation_doc_ids,
        reranked=retrieved.reranked,
        pre_rerank_candidate_ids=retrieved.pre_rerank_candidate_ids,
        history=query.history,
        failed=failed,
        error=record.error if failed else None,
    )


def _answered_row(run: PreparedRun, journal: Journal, query: Query, row: QueryRow) -> QueryRow:
    """Add the answer, the judge's scores and reasons, and the metrics of both to a row."""
    record = journal.of(GENERATE).get(query.query_id)
    scores: Metrics = {}
    if record is None:  # its retrieval failed
        pass
    elif record.status == "failed":
        row = replace(row, failed=True, error=record.error)
    else:
        generated = generated_of(record)
        row = replace(row, response=generated.response, abstained=generated.abstained)
        if (judged := journal.of(JUDGE).get(query.query_id)) is not None:
            judgements = judged_of(judged)
            scores = judgements.scores
            row = replace(row, judge_reasons=judgements.reasons)
            if judged.status == "failed":
                row = replace(row, judge_failed=True, error=judged.error)
    return replace(row, metrics=row.metrics | _answer_metrics(run, query, row, scores))


def _answer_metrics(run: PreparedRun, query: Query, row: QueryRow, scores: Metrics) -> Metrics:
    """Return the metrics of an answer. Abstentions such as "I don't know" are not judged and get no judge metrics."""
    # The "no" in an abstention such as "no lo sé" must not count as the answer "no".
    response = "" if row.abstained else row.response
    case = AnswerCase(response, query.answer, query.answer_type, run.language)
    metrics = answer_metrics(case)
    if run.manifest.judge and not row.abstained:
        metrics |= {name: scores.get(name) for name in run.settings.judge_metric_names}
    return metrics


def with_similarity(
    rows: Sequence[QueryRow], embedder: Callable[[], Embedder], cache: VectorCache, progress: ProgressCallback
) -> list[QueryRow]:
    """Add the vector similarity metrics to the rows of extractive questions. Rows without an answer are not scored."""
    specs = metrics_of("vectors")
    scores: dict[str, dict[str, float | None]] = {}
    scorable: list[tuple[str, str, str]] = []
    for row in rows:
        if row.abstained or AnswerCase(None, row.answer, row.answer_type).is_label:
            continue
        scores[row.query_id] = dict.fromkeys(specs)
        if row.response and row.answer.strip():
            scorable.append((row.query_id, row.response, row.answer))
    if scorable:
        texts = [text for _, response, answer in scorable for text in (response, answer)]
        vectors = cache.embed(embedder(), texts, "query", progress=progress, phase=SIMILARITY_PHASE)
        for position, (query_id, _, _) in enumerate(scorable):
            answer_vector, reference = vectors[2 * position], vectors[2 * position + 1]
            scores[query_id] = {name: spec.score(answer_vector, reference) for name, spec in specs.items()}
    return [
        replace(row, metrics={**row.metrics, **scores[row.query_id]}) if row.query_id in scores else row for row in rows
    ]


def result_of(run: PreparedRun, journal: Journal, rows: Sequence[QueryRow]) -> RunResult:
    """Return the result without seconds, memory and spending, which are not in the records."""
    retrieved = journal.of(RETRIEVE)
    result = replace(
        result_of_rows(run.manifest, rows, journal.damaged, _failures(journal)),
        rerank_failures=sum(bool(retrieved_of(retrieved[key]).rerank_error) for key in run.query_ids),
        abstentions=sum(row.abstained for row in rows) if run.settings.generation_enabled else None,
        answer_rule=RULES.get(run.language, RULES[OFFICIAL]) if run.settings.generation_enabled else "",
        passage_questions=_passage_questions(run),
    )
    return run.corpus.completed(result, retrieved, run.settings)


def _passage_questions(run: PreparedRun) -> dict[str, int]:
    """Return the latest counts of the questions that a model wrote for the passages; {} without such questions."""
    found = deque(run.folder.read_events(QUESTIONS_CHECKED), maxlen=1)
    return {count.name: event[count.name] for event in found for count in fields(QuestionCounts)}


def _failures(journal: Journal) -> dict[str, int]:
    """Return phase -> number of queries for which it failed, without phases that never failed."""
    phases = (RETRIEVE, GENERATE, JUDGE)
    return {phase: count for phase in phases if (count := journal.failed(phase))}
