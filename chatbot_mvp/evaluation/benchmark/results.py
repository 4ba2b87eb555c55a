"""From what a run has recorded to ``<run_id>.json``: ids and figures, no text of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chatbot_mvp.datasets import Query
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.evaluation.benchmark import generation, judgement, retrieving
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.metrics.registry import metrics_of, ranking_metrics
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.runs.causes import cause_of, outcome_of_row
from chatbot_mvp.runs.figures import answer_metrics, context_metrics, run_figures
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.types import ProgressCallback

SIMILARITY_PHASE = "similarity"


def rows_of(run: PreparedRun, journal: Journal) -> list[dict[str, Any]]:
    """One row per query, in their order; a failed phase leaves its metrics not scored."""
    # Without a reranker or answers, the context of a question is what the chat would take.
    cut = run.settings.reranker_top_n if run.settings.reranker_enabled else run.settings.kb_top_k
    specs = ranking_metrics(run.settings.retrieval_k)
    rows = []
    for query in run.queries:
        row = _ranking_row(run, journal, query, specs)
        candidates = row.pop("_candidates")
        if run.settings.generation_enabled:
            row |= _answer_fields(run, journal, query)
            row["metrics"] = row["metrics"] | _answer_metrics(run, query, row)
        # A passage is one chunk, so that the ids of candidates are those of documents.
        known = {**row, "candidates": candidates}
        row["cause"] = cause_of(outcome_of_row(known, cut, run.language)).value
        rows.append(row)
    return rows


def _ranking_row(run: PreparedRun, journal: Journal, query: Query, specs: Mapping[str, MetricSpec]) -> dict[str, Any]:
    record = journal.of(retrieving.PHASE)[query.query_id]
    failed, payload = record.status == "failed", record.payload
    ranking, context = payload.get("doc_ids", []), payload.get("generation_doc_ids")
    qrels = run.dataset.qrels.get(query.query_id, {})
    measured: dict[str, float | None]
    if failed:
        has_context = run.settings.generation_enabled or run.settings.reranker_enabled
        measured = dict.fromkeys([*specs, *(context_metrics([], {}) if has_context else ())])
    else:
        measured = {name: spec.score(ranking, qrels) for name, spec in specs.items()} | context_metrics(context, qrels)
    row: dict[str, Any] = {
        "query_id": query.query_id,
        "question": query.text,
        "answer": query.answer,
        "answer_type": query.answer_type,
        "question_type": query.question_type,
        "level": query.level,
        "metrics": measured,
        "retrieved": ranking,
        "gold": [doc_id for doc_id, score in qrels.items() if score > 0],
        "_candidates": payload.get("pre_rerank_candidate_ids", ()),
    }
    if context is not None:
        row["generation_doc_ids"] = context
    if "reranked" in payload:
        row["reranked"] = payload["reranked"]
    if failed:
        row |= {"failed": True, "error": record.error}
    return row


def _answer_fields(run: PreparedRun, journal: Journal, query: Query) -> dict[str, Any]:
    generated = journal.of(generation.PHASE).get(query.query_id)
    if generated is None:  # its retrieval failed
        return {"response": None, "abstained": False}
    if generated.status == "failed":
        return {"response": None, "abstained": False, "failed": True, "error": generated.error}
    fields: dict[str, Any] = {name: generated.payload[name] for name in ("response", "abstained")}
    judged = journal.of(judgement.PHASE).get(query.query_id)
    if judged is not None:
        fields["judge_reasons"] = judged.payload.get("reasons", {})
        if judged.status == "failed":
            fields |= {"judge_failed": True, "error": judged.error}
        fields["_scores"] = judged.payload.get("scores", {})
    return fields


def _answer_metrics(run: PreparedRun, query: Query, row: dict[str, Any]) -> dict[str, float | None]:
    """The judge's are only there for answers that were to be judged: not for "I don't know"."""
    # The no of "no lo sé" is not the answer no.
    response = "" if row["abstained"] else row["response"]
    case = AnswerCase(response, query.answer, query.answer_type, run.language)
    metrics = answer_metrics(case)
    scores = row.pop("_scores", {})
    if run.manifest.judge and not row["abstained"]:
        metrics |= {name: scores.get(name) for name in run.settings.judge_metric_names}
    return metrics


def add_similarity(
    rows: list[dict[str, Any]], embedder: Callable[[], Embedder], cache: VectorCache, progress: ProgressCallback
) -> None:
    """Give each extractive question's row the metrics of vectors; of an answer that is none, they are not scored."""
    specs = metrics_of("vectors")
    extractive = [row for row in rows if not AnswerCase(None, row["answer"], row["answer_type"]).is_label]
    scorable = [row for row in extractive if row["response"] and row["answer"].strip() and not row["abstained"]]
    for row in extractive:
        if not row["abstained"]:
            row["metrics"] |= dict.fromkeys(specs)
    if not scorable:
        return
    texts = [row[field] for row in scorable for field in ("response", "answer")]
    vectors = cache.embed(embedder(), texts, "query", progress=progress, phase=SIMILARITY_PHASE)
    for position, row in enumerate(scorable):
        answer, reference = vectors[2 * position], vectors[2 * position + 1]
        row["metrics"] |= {name: spec.score(answer, reference) for name, spec in specs.items()}


def result_of(run: PreparedRun, journal: Journal, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The result but for what only the run itself knows: seconds, memory, spending."""
    manifest = run.manifest
    retrieved = journal.of(retrieving.PHASE)
    result: dict[str, Any] = {
        "run_id": manifest.run_id,
        "dataset": manifest.dataset,
        "dataset_sha256": manifest.dataset_sha256,
        "strategy": manifest.strategy,
        "fingerprint": manifest.fingerprint,
        "queries": manifest.queries,
        "documents": manifest.documents,
        "started_at": manifest.started_at,
        "generator": manifest.generator,
        "judge": manifest.judge,
        **run_figures(rows),
        "damaged_records": journal.damaged,
        "failures": _failures(journal),
        "rerank_failures": sum(bool(retrieved[key].payload.get("rerank_error")) for key in run.query_ids),
        "per_query": rows,
    }
    if manifest.imported:
        result["imported"] = manifest.imported
    if run.settings.generation_enabled:
        result["abstentions"] = sum(bool(row["abstained"]) for row in rows)
    return result


def _failures(journal: Journal) -> Mapping[str, int]:
    """Phase -> queries that it failed for; phases without a failure are left out."""
    phases = (retrieving.PHASE, generation.PHASE, judgement.PHASE)
    return {phase: count for phase in phases if (count := journal.failed(phase))}
