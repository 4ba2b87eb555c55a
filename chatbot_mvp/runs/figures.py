"""Compute the metrics of a query's row, and the result of a run from its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields

from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.metrics.ranking.generation_context import reranker_rescue_count
from chatbot_mvp.metrics.registry import METRICS, metrics_of
from chatbot_mvp.metrics.statistics.summary import SPLITS, Scores, split, summarise
from chatbot_mvp.runs.causes import Cause
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow, SplitFigure
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.formats import RESULT


def context_metrics(context: Sequence[str] | None, qrels: Mapping[str, int]) -> dict[str, float | None]:
    """Compute the metrics of the generator's context; empty without a reranker (``context`` is None)."""
    return {} if context is None else {name: spec.score(context, qrels) for name, spec in metrics_of("context").items()}


def answer_metrics(case: AnswerCase) -> dict[str, float | None]:
    """Compute the answer metrics that apply to the kind of question; all None if there is no answer."""
    specs = metrics_of("answer").items()
    return {name: spec.score(case) for name, spec in specs if spec.applies_to(case.is_label)}


def result_of_rows(
    manifest: RunManifest, per_query: Sequence[QueryRow], damaged_records: int, failures: dict[str, int]
) -> RunResult:
    """Build the result of a run from its rows, with all metrics that occur in them.

    What needs other data is empty, and none of it is counted.

    Args:
        damaged_records, failures: as in ``RunResult``.
    """
    found = {name for row in per_query for name in row.metrics}
    names = [name for name in METRICS if name in found]
    rows = [Scores(row.metrics, row.failed or row.judge_failed, row_groups(row)) for row in per_query]
    totals = summarise(rows, names)
    causes = Counter(row.cause for row in per_query)
    reranked = [row for row in per_query if row.reranked is not None]
    shared = {item.name: getattr(manifest, item.name) for item in fields(RunResult) if hasattr(manifest, item.name)}
    return RunResult(
        **shared,
        format_version=RESULT,
        answer_rule="",
        language="",
        repeats=1,
        metrics={name: total.mean for name, total in totals.items()},
        scored={name: (total.scored, total.total) for name, total in totals.items()},
        readings={name: (total.mean, total.mean_with_failures) for name, total in totals.items()},
        intervals={name: total.interval for name, total in totals.items()},
        splits={
            field: {
                value: {
                    name: SplitFigure(total.mean, total.scored, total.total, total.interval)
                    for name, total in summaries.items()
                }
                for value, summaries in groups.items()
            }
            for field, groups in split(rows, names).items()
        },
        causes={cause.value: causes[cause.value] for cause in Cause},
        reranker_rescue_count=_rescued(reranked) if reranked else None,
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
        config=masked_settings(manifest.settings_masked),
        per_query=tuple(per_query),
    )


def row_groups(row: QueryRow) -> dict[str, str]:
    """Return field of ``SPLITS`` -> the row's value; "" means that the row belongs to no group."""
    return {field: getattr(row, field) for field in SPLITS}


def _rescued(reranked: Sequence[QueryRow]) -> int:
    return reranker_rescue_count(
        (row.retrieved, row.generation_doc_ids or (), dict.fromkeys(row.gold, 1)) for row in reranked
    )
