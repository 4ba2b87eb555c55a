"""The phases of a run that ask models: answers and their judgements, side by side, at the providers' limits.

A slow judge does not hold the generator: both have threads of their own, and an answer is handed on as it comes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import Any

from chatbot_mvp.benchmark import generation, judgement
from chatbot_mvp.benchmark.datasets import Query
from chatbot_mvp.benchmark.journal import Journal
from chatbot_mvp.benchmark.preparation import PreparedRun
from chatbot_mvp.benchmark.records import QueryRecord
from chatbot_mvp.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.benchmark.spending import BudgetReached, Spending, Spent
from chatbot_mvp.benchmark.workers import Outcome, Workers
from chatbot_mvp.errors import ChatbotError, ProviderQuotaExhausted, RunGaveUp, RunOutOfQuota, RunOverBudget
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.remote.failures import concerns_one_request
from chatbot_mvp.types import Progress, ProgressCallback

GENERATE, JUDGE = generation.PHASE, judgement.PHASE

_LOOK_EVERY_S = 0.2
_RECORDS_AT_ONCE = 32  # between two fsyncs
_PATIENCE_S = 5.0
"""After a stop, how long what is at work may take to end and be recorded."""
_GIVE_UP_AFTER = 25
"""Failures in a row after which a provider is taken to be away: the others would only fail as well."""


@dataclass(frozen=True)
class RunModels:
    """Who answers and who judges in a run."""

    generator: ChatModel
    generator_calls: int
    """Requests at the same time."""
    judge: ChatModel | None
    """None: answers are not judged."""
    judge_calls: int = 1


class _Pace:
    """Failures in a row of one phase."""

    def __init__(self) -> None:
        self.failures = 0

    def count(self, record: QueryRecord) -> None:
        self.failures = self.failures + 1 if record.status == "failed" else 0


def answer(
    run: PreparedRun, journal: Journal, models: RunModels, spending: Spending, progress: ProgressCallback
) -> dict[str, float]:
    """Answer and judge what is missing; seconds per phase of this attempt, which run at the same time.

    Raises:
        RunOutOfQuota, RunOverBudget, RunGaveUp: what is recorded stays; a resume or retry does the rest.
        ProviderError: one that no request would survive, such as a refused key.
    """
    return _Answering(run, journal, models, spending, progress).work()


class _Answering:
    """One attempt. All methods but ``_generate`` and ``_judge`` belong to the run's own thread."""

    def __init__(
        self,
        run: PreparedRun,
        journal: Journal,
        models: RunModels,
        spending: Spending,
        progress: ProgressCallback,
    ) -> None:
        self._run = run
        self._journal = journal
        self._spending = spending
        self._progress = progress
        self._queries = {query.query_id: query for query in run.queries}
        self._generator = spending.metered(GENERATE, models.generator)
        self._judge_model = spending.metered(JUDGE, models.judge) if models.judge else None
        self._outcomes: SimpleQueue[Outcome[str, QueryRecord]] = SimpleQueue()
        self._workers: dict[str, Workers[str, QueryRecord]] = {
            GENERATE: Workers(GENERATE, models.generator_calls, self._generate, self._outcomes),
            JUDGE: Workers(JUDGE, models.judge_calls, self._judge, self._outcomes),
        }
        self._waiting = {GENERATE: 0, JUDGE: 0}
        self._before = {GENERATE: 0, JUDGE: 0}
        self._pace = {GENERATE: _Pace(), JUDGE: _Pace()}
        self._began: dict[str, float] = {}
        self._seconds = {GENERATE: 0.0, JUDGE: 0.0}
        self._all_told = False

    def work(self) -> dict[str, float]:
        retrieved = self._journal.ok(RETRIEVE)
        ready = [query_id for query_id in self._run.query_ids if query_id in retrieved]
        self._before = {phase: len(self._journal.of(phase)) for phase in (GENERATE, JUDGE)}
        try:
            for query_id in self._journal.missing(GENERATE, ready):
                self._give(GENERATE, query_id)
            answered = self._journal.ok(GENERATE)
            for query_id in self._journal.missing(JUDGE, [key for key in ready if key in answered]):
                self._hand_on(query_id)
            while any(self._waiting.values()):
                self._tell()
                self._take(_LOOK_EVERY_S)
            self._tell()
        finally:
            self._wind_up()
        phases = (GENERATE, JUDGE) if self._judge_model else (GENERATE,)
        return {phase: round(self._seconds[phase], 3) for phase in phases}

    # --- at work in the workers' threads

    def _generate(self, query_id: str) -> QueryRecord:
        query = self._queries[query_id]
        with self._costed(GENERATE) as spent:
            try:
                request = generation.generation_request(
                    query, self._run.passages(self._context(query_id)), self._language, self._run.settings
                )
                completion = self._generator.complete(request)
            except ChatbotError as error:
                return self._failed(query, GENERATE, error)
            spent.append(completion)
        text = generation.tidy_answer(completion.text)
        payload = {
            "response": text,
            "abstained": generation.is_abstention(text, self._language),
            "model": completion.model,
            "finish_reason": completion.finish_reason,
            "seconds": round(completion.seconds, 4),
            "usage": Spent.of(completion).to_json(),
        }
        return QueryRecord(self._run.manifest.run_id, query_id, GENERATE, "ok", payload)

    def _judge(self, query_id: str) -> QueryRecord:
        assert self._judge_model is not None
        query, response = self._queries[query_id], self._journal.of(GENERATE)[query_id].payload["response"]
        passages = self._run.passages(self._context(query_id))
        scores: dict[str, float | None] = {}
        reasons, raw = {}, {}
        with self._costed(JUDGE) as spent:
            try:
                for metric in self._run.settings.judge_metric_names:
                    found = judgement.judge(self._judge_model, metric, query.text, response, passages, self._language)
                    spent.extend(found.completions)
                    scores[metric], reasons[metric] = found.score, found.reason
                    if found.score is None:
                        raw[metric] = found.raw
            except ChatbotError as error:
                return self._failed(query, JUDGE, error)
        unscored = [metric for metric, score in scores.items() if score is None]
        payload: dict[str, Any] = {"scores": scores, "reasons": reasons, "model": self._judge_model.name}
        payload["usage"] = Spent.total(Spent.of(completion) for completion in spent).to_json()
        if raw:
            payload["raw"] = raw
        error_text = f"not scored: {', '.join(unscored)}" if unscored else None
        return QueryRecord(
            self._run.manifest.run_id, query_id, JUDGE, "failed" if unscored else "ok", payload, error_text
        )

    def _failed(self, query: Query, phase: str, error: ChatbotError) -> QueryRecord:
        if not concerns_one_request(error):
            raise error
        return QueryRecord(self._run.manifest.run_id, query.query_id, phase, "failed", {"code": error.code}, str(error))

    @contextmanager
    def _costed(self, phase: str) -> Iterator[list[Completion]]:
        """Holds the budget for a task; what it appends is what the task has cost."""
        self._spending.begin(phase)
        completions: list[Completion] = []
        try:
            yield completions
        finally:
            self._spending.end(phase, Spent.total(Spent.of(item) for item in completions).cost_usd)

    def _context(self, query_id: str) -> list[str]:
        ids: list[str] = self._journal.of(RETRIEVE)[query_id].payload["generation_doc_ids"]
        return ids

    @property
    def _language(self) -> str:
        return self._run.language

    # --- in the run's thread

    def _give(self, phase: str, query_id: str) -> None:
        self._began.setdefault(phase, time.monotonic())
        self._waiting[phase] += 1
        self._workers[phase].add(query_id)

    def _hand_on(self, query_id: str) -> None:
        """An answer goes to the judge, unless it says that there is none."""
        if self._judge_model is not None and not self._journal.of(GENERATE)[query_id].payload["abstained"]:
            self._give(JUDGE, query_id)

    def _take(self, timeout: float) -> None:
        """Wait for an outcome, and record it with all others that are there."""
        try:
            outcomes = [self._outcomes.get(timeout=timeout)]
        except Empty:
            return
        while len(outcomes) < _RECORDS_AT_ONCE:
            try:
                outcomes.append(self._outcomes.get_nowait())
            except Empty:
                break
        fatal: Exception | None = None
        records = []
        for outcome in outcomes:
            self._waiting[outcome.workers] -= 1
            if outcome.value is not None:
                records.append(outcome.value)
                self._pace[outcome.workers].count(outcome.value)
            else:
                fatal = fatal or outcome.error
        self._journal.add(records)
        for record in records:
            self._seconds[record.phase] = time.monotonic() - self._began[record.phase]
        if fatal is not None:
            raise self._told(fatal) from fatal
        for record in records:
            if record.phase == GENERATE and record.status == "ok":
                self._hand_on(record.query_id)
            if self._pace[record.phase].failures >= _GIVE_UP_AFTER:
                raise RunGaveUp(
                    run_id=self._run.manifest.run_id, failures=_GIVE_UP_AFTER, reason=record.error or "no reason given."
                )

    def _told(self, error: Exception) -> Exception:
        run_id, done, total = self._run.manifest.run_id, len(self._journal.of(GENERATE)), len(self._queries)
        if isinstance(error, BudgetReached):
            spent, budget = round(self._spending.total.cost_usd, 4), self._spending.budget_usd
            return RunOverBudget(run_id=run_id, done=done, total=total, spent=spent, budget=budget)
        if isinstance(error, ProviderQuotaExhausted):
            return RunOutOfQuota(run_id=run_id, done=done, total=total, reason=error)
        return error

    def _tell(self) -> None:
        """Of the generator until it is through, then of the judge."""
        generated = not self._waiting[GENERATE]
        if not (generated and self._all_told):
            self._tell_of(GENERATE)
            self._all_told = generated
        if generated and self._judge_model is not None:
            self._tell_of(JUDGE)

    def _tell_of(self, phase: str) -> None:
        done, spent = len(self._journal.of(phase)), self._spending.total
        total = len(self._queries) if phase == GENERATE else done + self._waiting[JUDGE]
        seconds = time.monotonic() - self._began.get(phase, time.monotonic())
        self._progress(
            Progress(
                phase,
                done,
                total,
                seconds,
                self._before[phase],
                failed=self._journal.failed(phase),
                tokens=spent.tokens,
                cost_usd=None if spent.unpriced else spent.cost_usd,
            )
        )

    def _wind_up(self) -> None:
        """After an early end: nothing more is begun, and what ends soon is still recorded."""
        for workers in self._workers.values():
            workers.close()
        self._spending.close()
        deadline = time.monotonic() + _PATIENCE_S
        records = []
        while any(workers.at_work for workers in self._workers.values()) or not self._outcomes.empty():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                outcome = self._outcomes.get(timeout=min(left, _LOOK_EVERY_S))
            except Empty:
                continue
            if outcome.value is not None:
                records.append(outcome.value)
        self._journal.add(records)


def spent_json(spending: Spending) -> dict[str, Any]:
    """``usage`` of ``<run_id>.json``: the sums of all attempts, whole and by phase."""
    total = spending.total
    return {**total.to_json(), "phases": {phase: asdict(spent) for phase, spent in spending.by_phase().items()}}
