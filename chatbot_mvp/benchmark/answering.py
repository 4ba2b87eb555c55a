"""The phases of a run that ask models: answers and their judgements, side by side, at the providers' limits.

A slow judge does not hold the generator: both have threads of their own, and an answer is handed on as it comes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import Any, Literal

from chatbot_mvp.benchmark import generation, judgement
from chatbot_mvp.benchmark.datasets import Query
from chatbot_mvp.benchmark.journal import Journal
from chatbot_mvp.benchmark.preparation import PreparedRun
from chatbot_mvp.benchmark.records import QueryRecord
from chatbot_mvp.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.benchmark.spending import Spending, Spent
from chatbot_mvp.benchmark.workers import Outcome, Workers
from chatbot_mvp.errors import ChatbotError, RunGaveUp
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.remote.failures import PASSING, concerns_one_request
from chatbot_mvp.types import Progress, ProgressCallback

GENERATE, JUDGE = generation.PHASE, judgement.PHASE

_LOOK_EVERY_S = 0.2
_RECORDS_AT_ONCE = 32  # between two fsyncs
_PATIENCE_S = 5.0
"""After a stop, how long what is at work may take to end and be recorded."""
_GIVE_UP_AFTER = 25
"""Failures in a row after which a provider is taken to be away: the others would only fail as well."""
_THREADS_PER_CALL = 4
"""Of four threads three may be waiting to try again, and would leave their places at the provider empty."""
_LATER_TRIES = 2
"""How often a query that a passing failure of the provider cost is tried again, after all the others. Each try has the
repetitions of NIM_MAX_RETRIES: of a provider that fails one request in four, 4 times in a row is one query in 200, and
12 times in a row none that will be seen."""
_REST_S = 1.0
"""Before such a try: what is over in a second should not cost it."""


@dataclass(frozen=True)
class RunModels:
    """Who answers and who judges in a run."""

    generator: ChatModel
    generator_calls: int
    """Requests at the same time, from 1."""
    judge: ChatModel | None
    """None: answers are not judged."""
    judge_calls: int = 1
    share_calls: bool = False
    """Both are asked at one address, whose places they share."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What a task has come to."""

    record: QueryRecord
    passing: bool = False
    """It failed for a reason that may be gone when it is tried again."""


class _Pace:
    """Failures in a row of one phase."""

    def __init__(self) -> None:
        self.failures = 0
        self.reason = ""
        """Of the last one."""

    def count(self, record: QueryRecord) -> None:
        self.failures = self.failures + 1 if record.status == "failed" else 0
        self.reason = record.error or "no reason given."


def answer(
    run: PreparedRun, journal: Journal, models: RunModels, spending: Spending, progress: ProgressCallback
) -> dict[str, float]:
    """Answer and judge what is missing; seconds per phase of this attempt, which run at the same time.

    Raises:
        BudgetReached, ProviderQuotaExhausted, RunGaveUp: what is recorded stays; a resume or retry does the rest.
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
        self._outcomes: SimpleQueue[Outcome[str, _Done]] = SimpleQueue()
        self._workers: dict[str, Workers[str, _Done]] = {
            GENERATE: Workers(GENERATE, _THREADS_PER_CALL * models.generator_calls, self._generate, self._outcomes),
            JUDGE: Workers(JUDGE, _THREADS_PER_CALL * models.judge_calls, self._judge, self._outcomes),
        }
        self._models = models
        self._unjudged: list[str] = []
        """Answers whose judgement waits for places that the generator needs."""
        self._late: dict[str, list[QueryRecord]] = {GENERATE: [], JUDGE: []}
        """Failures that are tried again; not recorded, so that after a crash they are missing."""
        self._tries: Counter[tuple[str, str]] = Counter()
        self._rested: dict[str, float] = {}
        self._waiting = {GENERATE: 0, JUDGE: 0}
        self._before = {GENERATE: 0, JUDGE: 0}
        self._pace = {GENERATE: _Pace(), JUDGE: _Pace()}
        self._began: dict[str, float] = {}
        self._seconds = {GENERATE: 0.0, JUDGE: 0.0}

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
            while any(self._waiting.values()) or any(self._late.values()) or self._unjudged:
                self._give_late()
                self._tell()
                self._take(_LOOK_EVERY_S)
            self._tell()
        finally:
            self._wind_up()
        phases = (GENERATE, JUDGE) if self._judge_model else (GENERATE,)
        return {phase: round(self._seconds[phase], 3) for phase in phases}

    # --- at work in the workers' threads

    def _generate(self, query_id: str) -> _Done:
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
        return _Done(QueryRecord(self._run.manifest.run_id, query_id, GENERATE, "ok", payload))

    def _judge(self, query_id: str) -> _Done:
        assert self._judge_model is not None
        query, response = self._queries[query_id], self._journal.of(GENERATE)[query_id].payload["response"]
        passages = self._run.passages(self._context(query_id))
        scores: dict[str, float | None] = {}
        reasons, raw = {}, {}
        passing = False
        with self._costed(JUDGE) as spent:
            try:
                for metric in self._run.settings.judge_metric_names:
                    found = judgement.judge(self._judge_model, metric, query.text, response, passages, self._language)
                    spent.extend(found.completions)
                    scores[metric], reasons[metric] = found.score, found.reason
                    if found.score is None:
                        raw[metric] = found.raw
                        passing = passing or found.passing
            except ChatbotError as error:
                return self._failed(query, JUDGE, error)
        unscored = [metric for metric, score in scores.items() if score is None]
        payload: dict[str, Any] = {"scores": scores, "reasons": reasons, "model": self._judge_model.name}
        payload["usage"] = Spent.total(Spent.of(completion) for completion in spent).to_json()
        if raw:
            payload["raw"] = raw
        error_text = f"not scored: {', '.join(unscored)}" if unscored else None
        status: Literal["ok", "failed"] = "failed" if unscored else "ok"
        return _Done(QueryRecord(self._run.manifest.run_id, query_id, JUDGE, status, payload, error_text), passing)

    def _failed(self, query: Query, phase: str, error: ChatbotError) -> _Done:
        if not concerns_one_request(error):
            raise error
        payload = {"code": error.code}
        record = QueryRecord(self._run.manifest.run_id, query.query_id, phase, "failed", payload, str(error))
        return _Done(record, isinstance(error, PASSING))

    @contextmanager
    def _costed(self, phase: str) -> Iterator[list[Completion]]:
        """Holds the budget for a task; what it appends is what the task has cost."""
        self._spending.begin(phase, len(self._run.settings.judge_metric_names) if phase == JUDGE else 1)
        completions: list[Completion] = []
        try:
            yield completions
        finally:
            paid = [Spent.of(item) for item in completions if not item.cached]
            self._spending.end(phase, Spent.total(paid).cost_usd if paid else None)

    def _context(self, query_id: str) -> list[str]:
        ids: list[str] = self._journal.of(RETRIEVE)[query_id].payload["generation_doc_ids"]
        return ids

    @property
    def _language(self) -> str:
        return self._run.dataset.language

    # --- in the run's thread

    def _give(self, phase: str, query_id: str) -> None:
        self._began.setdefault(phase, time.monotonic())
        self._waiting[phase] += 1
        self._workers[phase].add(query_id)

    def _hand_on(self, query_id: str) -> None:
        """An answer goes to the judge, unless it says that there is none."""
        if self._judge_model is not None and not self._journal.of(GENERATE)[query_id].payload["abstained"]:
            self._unjudged.append(query_id)

    def _give_late(self) -> None:
        """Give what had to wait: judgements for places, failures for all the others."""
        if not self._models.share_calls or self._waiting[GENERATE] < self._models.generator_calls:
            # As many requests are on their way as may be, in either order; this one lets the generator end first.
            for query_id in self._unjudged:
                self._give(JUDGE, query_id)
            self._unjudged.clear()
        for phase, others in ((GENERATE, self._waiting[GENERATE]), (JUDGE, sum(self._waiting.values()))):
            if self._late[phase] and not others and time.monotonic() >= self._rested[phase]:
                for record in self._late[phase]:
                    self._give(phase, record.query_id)
                self._late[phase].clear()

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
            if outcome.value is None:
                fatal = fatal or outcome.error
                continue
            self._pace[outcome.workers].count(outcome.value.record)
            if not self._put_off(outcome.value):
                records.append(outcome.value.record)
        self._journal.add(records)
        for record in records:
            self._seconds[record.phase] = time.monotonic() - self._began[record.phase]
        if fatal is not None:
            raise fatal
        for record in records:
            if record.phase == GENERATE and record.status == "ok":
                self._hand_on(record.query_id)
        for phase, pace in self._pace.items():
            if pace.failures >= _GIVE_UP_AFTER:
                # Now they count as failed: a retry is what the error tells to do.
                self._journal.add(self._late[phase])
                raise RunGaveUp(run_id=self._run.manifest.run_id, failures=_GIVE_UP_AFTER, reason=pace.reason)

    def _put_off(self, done: _Done) -> bool:
        """Whether a task is to be tried again later in place of being recorded as failed."""
        phase, key = done.record.phase, (done.record.phase, done.record.query_id)
        if not done.passing or self._tries[key] >= _LATER_TRIES:
            return False
        self._tries[key] += 1
        self._late[phase].append(done.record)
        self._rested[phase] = time.monotonic() + _REST_S
        return True

    def _tell(self) -> None:
        """Of the generator while it has work, then of the judge."""
        phase = GENERATE if self._waiting[GENERATE] or not self._waiting[JUDGE] else JUDGE
        done, spent = len(self._journal.of(phase)), self._spending.total
        total = len(self._queries) if phase == GENERATE else done + self._waiting[JUDGE] + len(self._late[JUDGE])
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
            # What may yet go well is left missing.
            if outcome.value is not None and not outcome.value.passing:
                records.append(outcome.value.record)
        self._journal.add(records)


def spent_json(spending: Spending) -> dict[str, Any]:
    """``usage`` of ``<run_id>.json``: the sums of all attempts, whole and by phase."""
    total = spending.total
    return {**total.to_json(), "phases": {phase: asdict(spent) for phase, spent in spending.by_phase().items()}}
