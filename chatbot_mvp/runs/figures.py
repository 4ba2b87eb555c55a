"""Compute the metrics of a query's row, and the aggregated figures of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.metrics.ranking.generation_context import reranker_rescue_count
from chatbot_mvp.metrics.registry import METRICS, metrics_of
from chatbot_mvp.metrics.statistics.summary import Scores, Summary, split, summarise
from chatbot_mvp.runs.causes import Cause
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Interval, Metrics, QueryRow, SplitFigure
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.formats import RESULT


def context_metrics(context: Sequence[str] | None, qrels: Mapping[str, int]) -> dict[str, float | None]:
    """Compute the metrics of the generator's context; empty without a reranker (``context`` is None)."""
    return {} if context is None else {name: spec.score(context, qrels) for name, spec in metrics_of("context").items()}


def answer_metrics(case: AnswerCase) -> dict[str, float | None]:
    """Compute the answer metrics that apply to the kind of question; all None if there is no answer."""
    specs = metrics_of("answer").items()
    return {name: spec.score(case) for name, spec in specs if spec.applies_to(case.is_label)}


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Aggregated figures of a run. The fields are those of the same names in ``RunResult``."""

    metrics: Metrics
    scored: dict[str, tuple[int, int]]
    readings: dict[str, tuple[float | None, float | None]]
    intervals: dict[str, Interval | None]
    splits: dict[str, dict[str, dict[str, SplitFigure]]]
    causes: dict[str, int]
    reranker_rescue_count: int | None


def run_figures(per_query: Sequence[QueryRow]) -> RunFigures:
    """Aggregate the rows of a run, for all metrics that occur in the rows."""
    found = {name for row in per_query for name in row.metrics}
    names = [name for name in METRICS if name in found]
    rows = [Scores(row.metrics, row.failed or row.judge_failed, row_groups(row)) for row in per_query]
    totals = summarise(rows, names)
    causes = Counter(row.cause for row in per_query)
    reranked = [row for row in per_query if row.reranked is not None]
    return RunFigures(
        metrics={name: total.mean for name, total in totals.items()},
        scored={name: (total.scored, total.total) for name, total in totals.items()},
        readings={name: (total.mean, total.mean_with_failures) for name, total in totals.items()},
        intervals={name: total.interval for name, total in totals.items()},
        splits={
            field: {
                value: {name: _cell(total) for name, total in summaries.items()} for value, summaries in groups.items()
            }
            for field, groups in split(rows, names).items()
        },
        causes={cause.value: causes[cause.value] for cause in Cause},
        reranker_rescue_count=_rescued(reranked) if reranked else None,
    )


def result_of_rows(
    manifest: RunManifest, rows: Sequence[QueryRow], damaged_records: int, failures: dict[str, int]
) -> RunResult:
    """Build the result of a run from its rows. What needs other data is empty, and none of it is counted.

    Args:
        damaged_records, failures: as in ``RunResult``.
    """
    figures = run_figures(rows)
    return RunResult(
        format_version=RESULT,
        run_id=manifest.run_id,
        kind=manifest.kind,
        dataset=manifest.dataset,
        dataset_sha256=manifest.dataset_sha256,
        strategy=manifest.strategy,
        fingerprint=manifest.fingerprint,
        queries=manifest.queries,
        documents=manifest.documents,
        corpus_slice=manifest.corpus_slice,
        gold_missing=manifest.gold_missing,
        started_at=manifest.started_at,
        generator=manifest.generator,
        judge=manifest.judge,
        answer_rule="",
        language="",
        repeats=1,
        generator_fingerprint=manifest.generator_fingerprint,
        judge_fingerprint=manifest.judge_fingerprint,
        preset=manifest.preset,
        metrics=figures.metrics,
        scored=figures.scored,
        readings=figures.readings,
        intervals=figures.intervals,
        splits=figures.splits,
        causes=figures.causes,
        reranker_rescue_count=figures.reranker_rescue_count,
        damaged_records=damaged_records,
        failures=failures,
        rerank_failures=None,
        abstentions=None,
        not_scored={},
        spread={},
        agreement={},
        auroc={},
        question_seconds={},
        passage_questions={},
        seconds={},
        usage=RunUsage(0, 0, 0, 0, 0.0, 0, {}),
        peak_rss_mb=None,
        finished_at="",
        imported=manifest.imported,
        config=masked_settings(manifest.settings_masked),
        per_query=tuple(rows),
    )


def row_groups(row: QueryRow) -> dict[str, str]:
    """Return field of ``SPLITS`` -> the row's value; "" means that the row belongs to no group."""
    return {"question_type": row.question_type, "answer_type": row.answer_type, "level": row.level}


def _rescued(reranked: Sequence[QueryRow]) -> int:
    return reranker_rescue_count(
        (row.retrieved, row.generation_doc_ids or (), dict.fromkeys(row.gold, 1)) for row in reranked
    )


def _cell(summary: Summary) -> SplitFigure:
    return SplitFigure(summary.mean, summary.scored, summary.total, summary.interval)
