"""Score every row of a data set of answers by every metric, and record each score so that a resume repeats none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.wrapped import TellingModel
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.runs.figures import result_of_rows
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Agreement, Detail, MetricSpread, QueryRow, RowSpread
from chatbot_mvp.runs.session import Session, working_on
from chatbot_mvp.runs.task_loop import Done, Lane, TaskLoop, costed, failed_task
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.types import Progress, ProgressCallback
from chatbot_mvp.wings.ragas.judging import column_of, score_row
from chatbot_mvp.wings.ragas.judging.agreement import judge_agreement, label_of, spread
from chatbot_mvp.wings.ragas.kind import phase_of, phases_of
from chatbot_mvp.wings.ragas.preparation import Evaluation, Judges
from chatbot_mvp.wings.ragas.rows import InputRow, to_csv, to_json_lines

FAITHFULNESS_METRICS = ("ragas_faithfulness", "lexical_faithfulness")
"""Metrics that are compared with human labels if the rows have a column ``label``."""

_UNSAFE = re.compile(r"[^\w.-]+")

PHASE = "score"
_OF_THE_ROW = frozenset({"missing_input", "nothing_to_judge", "no_statements"})
"""Reasons for a missing score that do not count as failures, because the row itself cannot be scored."""
Task = tuple[str, int, str]
"""(metric, repetition from 0, row id)"""


def result_of(evaluation: Evaluation, journal: Journal) -> RunResult:
    """Return the result without what is not in the records, such as seconds. Also works while scores are missing."""
    rows = [_row(evaluation, journal, item) for item in evaluation.rows]
    counted = Counter(metric for row in rows for metric in row.failed_metrics)
    failures = {metric: counted[metric] for metric in evaluation.metrics if counted[metric]}
    return replace(
        result_of_rows(evaluation.manifest, rows, journal.damaged, failures),
        repeats=evaluation.config.repeats,
        language=evaluation.prompts.language,
        not_scored=_reasons(rows),
        spread=_spread(rows),
        agreement=_agreement(evaluation, rows),
    )


def _row(evaluation: Evaluation, journal: Journal, item: InputRow) -> QueryRow:
    metrics: dict[str, float | None] = {}
    status: dict[str, str] = {}
    failed: list[str] = []
    spreads: dict[str, RowSpread] = {}
    details: dict[str, Detail] = {}
    for metric in evaluation.metrics:
        phases = phases_of([metric], evaluation.config.repeats)
        records = [record for phase in phases if (record := journal.of(phase).get(item.row_id))]
        values = [record.payload.get("value") for record in records]
        known = [value for value in values if value is not None]
        metrics[metric] = fmean(known) if known else None
        if known:
            status[metric] = "ok"
            details[metric] = records[0].payload.get("detail", {})
        elif records:
            reason = records[-1].payload.get("reason") or records[-1].payload.get("code", "")
            status[metric] = f"not_scored: {reason}"
            details[metric] = {name: records[-1].payload.get(name, "") for name in ("problem", "raw")}
        else:
            status[metric] = "not_scored: pending"
        if any(record.status == "failed" for record in records):
            failed.append(metric)
        if len(values) > 1:
            spreads[metric] = spread(values)
    return QueryRow(
        query_id=item.row_id,
        question=item.row.user_input or "",
        answer=item.row.reference or "",
        answer_type="",
        question_type="",
        level="",
        retrieved=(),
        gold=(),
        response=item.row.response,
        metrics=metrics,
        status=status,
        details=details,
        failed_metrics=tuple(failed),
        spread=spreads,
    )


def _reasons(rows: Sequence[QueryRow]) -> dict[str, dict[str, int]]:
    """Return metric -> reason -> number of rows that have no score for this reason."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        for metric, status in row.status.items():
            if status != "ok":
                found.setdefault(metric, Counter())[status.partition(": ")[2]] += 1
    return {metric: dict(reasons) for metric, reasons in found.items()}


def _spread(rows: Sequence[QueryRow]) -> dict[str, MetricSpread]:
    """Return metric -> spread of a row's scores between repetitions; empty if there is only one repetition."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for metric, values in row.spread.items():
            if values.deviation is not None:
                found.setdefault(metric, []).append(values.deviation)
    return {metric: MetricSpread(fmean(values), len(values)) for metric, values in found.items()}


def _agreement(evaluation: Evaluation, rows: Sequence[QueryRow]) -> dict[str, Agreement]:
    """Return metric -> agreement with human labels; empty if no row has a label."""
    labelled = {
        row.query_id: label
        for item, row in zip(evaluation.rows, rows, strict=True)
        if (label := label_of(item.given)) is not None
    }
    return {
        metric: judge_agreement(
            list(labelled.values()), [row.metrics[metric] for row in rows if row.query_id in labelled]
        )
        for metric in FAITHFULNESS_METRICS
        if labelled and metric in evaluation.metrics
    }


def columns_of(evaluation: Evaluation) -> dict[str, str]:
    """Return metric -> name of its column: the package's name, or this project's if the rows have that column."""
    given = {name for item in evaluation.rows for name in item.given}
    return {metric: metric if (column := column_of(metric)) in given else column for metric in evaluation.metrics}


def scored_rows(evaluation: Evaluation, result: RunResult, *, status: bool = True) -> list[dict[str, Any]]:
    """Return the input rows with one column per metric added, and with ``<column>_status`` if asked for."""
    names = columns_of(evaluation)
    rows = []
    for item, row in zip(evaluation.rows, result.per_query, strict=True):
        columns: dict[str, Any] = dict(item.given)
        for metric, name in names.items():
            columns[name] = row.metrics[metric]
            if status:
                columns[f"{name}_status"] = row.status[metric]
        rows.append(columns)
    return rows


def output_path(evaluation: Evaluation) -> Path | None:
    """Return the file that the configuration asks for; None if it asks for none."""
    output = evaluation.config.output
    if output is None or output.suffix.lower() in (".jsonl", ".csv"):
        return output
    return output / f"eval_{_UNSAFE.sub('_', evaluation.manifest.dataset)}.jsonl"


def write_outputs(evaluation: Evaluation, result: RunResult) -> None:
    """Write ``<run_id>_scores.jsonl`` and ``.csv`` to the run's folder, and the file that the configuration asks for.

    Raises:
        OSError: the file that is asked for cannot be written; those in the run's folder are there.
    """
    rows = scored_rows(evaluation, result)
    stem = evaluation.folder.path / f"{evaluation.folder.run_id}_scores"
    write_atomically(stem.with_suffix(".jsonl"), to_json_lines(rows))
    write_atomically(stem.with_suffix(".csv"), to_csv(rows))
    if (path := output_path(evaluation)) is not None:
        plain = scored_rows(evaluation, result, status=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, to_csv(plain) if path.suffix.lower() == ".csv" else to_json_lines(plain))


def execute(
    evaluation: Evaluation,
    judges: Judges,
    progress: ProgressCallback,
    finish: Callable[[RunResult], None],
    budget_usd: float | None = None,
) -> RunResult:
    """Compute the missing scores and write the result. Waits for other runs, since only one works at a time.

    Args:
        progress: called with the number of scores in the phase "score". May raise RunStopped; the records stay.
        finish: called with the result just before the run is marked as finished, as in a benchmark run.
        budget_usd: limit for the whole evaluation including earlier attempts, in US dollars; None for no limit.

    Raises:
        RunError (run_busy): another process or thread works on this run.
        RunError: the run ended early; its records stay.
        ProviderError: every request would fail, for example because of a refused key.
    """
    with working_on(
        evaluation.folder,
        evaluation.settings,
        progress,
        phase=phases_of(evaluation.metrics, evaluation.config.repeats)[-1],
        total=len(evaluation.rows),
        load_seconds=evaluation.load_seconds,
        budget_usd=budget_usd,
        retry_failed=evaluation.retry_failed,
    ) as session:
        with session.clock(PHASE):
            _score(evaluation, judges, session)
        with session.clock("aggregate"):
            progress(Progress("aggregate", 0, 1))
            result = result_of(evaluation, Journal(evaluation.folder))
        with session.clock("export"):
            write_outputs(evaluation, result)
        return session.finish(result, finish)


def _score(evaluation: Evaluation, judges: Judges, session: Session) -> None:
    journal = session.journal
    tasks = list(_missing(evaluation, journal))
    phases = phases_of(evaluation.metrics, evaluation.config.repeats)
    total = len(evaluation.rows) * len(phases)
    embedder = None
    if judges.embedder is not None:
        cache = VectorCache(vector_cache_path(evaluation.settings.cache_dir))
        embedder = _Remembering(judges.embedder, cache)
    judge = session.spending.metered(PHASE, judges.judge) if judges.judge else None

    def work(task: Task) -> Done:
        metric, repeat, row_id = task
        run_id, phase = evaluation.folder.run_id, phase_of(metric, repeat)
        with costed(session.spending, PHASE) as spent:
            try:
                scored = score_row(
                    metric,
                    evaluation.by_id[row_id].row,
                    TellingModel(judge, spent.append) if judge else None,
                    embedder,
                    evaluation.prompts,
                    evaluation.options(repeat),
                )
            except ChatbotError as error:
                return failed_task(run_id, row_id, phase, error)
        payload: dict[str, Any] = {"value": scored.value, "detail": dict(scored.detail), "requests": scored.requests}
        if scored.value is None:
            payload |= {"reason": scored.reason, "problem": scored.problem, "raw": scored.raw}
        if scored.value is not None or scored.reason in _OF_THE_ROW:
            return Done(QueryRecord(run_id, row_id, phase, "ok", payload))
        record = QueryRecord(run_id, row_id, phase, "failed", payload, f"{scored.reason}: {scored.problem}")
        # Unreadable replies, even many of them, do not mean that the provider is unavailable.
        of_provider = scored.reason == "provider"
        return Done(record, passing=of_provider, of_provider=of_provider)

    lanes = {PHASE: Lane(judges.calls, work)}
    loop: TaskLoop[Task] = TaskLoop(evaluation.folder.run_id, journal, session.spending, lanes)

    def tell() -> None:
        spent = session.spending.total
        session.progress(
            Progress(
                PHASE,
                total - loop.open(PHASE),
                total,
                loop.seconds_so_far(PHASE),
                total - len(tasks),
                failed=sum(journal.failed(phase) for phase in phases),
                tokens=spent.tokens,
                cost_usd=None if spent.unpriced else spent.cost_usd,
            )
        )

    with loop.winding_up():
        for task in tasks:
            loop.give(PHASE, task)
        while loop.busy:
            tell()
            loop.step()
        tell()


def _missing(evaluation: Evaluation, journal: Journal) -> Iterator[Task]:
    """Yield the tasks without a score, metric by metric, so that a server's prompt cache is used well."""
    ids = [row.row_id for row in evaluation.rows]
    for metric in evaluation.metrics:
        for repeat in range(evaluation.config.repeats):
            for row_id in journal.missing(phase_of(metric, repeat), ids):
                yield metric, repeat, row_id


class _Remembering:
    """An ``Embedder`` that caches its vectors on disk."""

    batch_size = None  # the cache already saves the vectors after every request

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        return self._cache.embed(self._embedder, texts, input_type)
