"""Score every row of a data set of answers by every metric, and record each score so that a resume repeats none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.llm.wrapped import TellingModel
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.session import Session, working_on
from chatbot_mvp.runs.task_loop import Done, Lane, TaskLoop, costed, failed_task
from chatbot_mvp.types import Progress, ProgressCallback
from chatbot_mvp.wings.ragas.judging import score_row
from chatbot_mvp.wings.ragas.phases import phase_of, phases_of
from chatbot_mvp.wings.ragas.preparation import Evaluation, Judges
from chatbot_mvp.wings.ragas.results import result_of, write_outputs

PHASE = "score"
_OF_THE_ROW = frozenset({"missing_input", "nothing_to_judge", "no_statements"})
"""Reasons for a missing score that do not count as failures, because the row itself cannot be scored."""

Task = tuple[str, int, str]
"""(metric, repetition from 0, row id)"""


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
