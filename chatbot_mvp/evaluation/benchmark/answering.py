"""The generation and judging phases of a run, in parallel and within the providers' limits.

Generator and judge have separate threads, and each answer is passed on as it arrives, so that a slow judge does not
delay the generator.
"""

from __future__ import annotations

from chatbot_mvp.evaluation.benchmark.engine import Engine
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.worker import Task
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import GENERATE, JUDGE, RETRIEVE, generated_of, retrieved_of
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.runs.task_loop import Done, Lane, TaskLoop, costed
from chatbot_mvp.types import Progress, ProgressCallback


class Answering:
    """One attempt at answering and judging. Only ``_generate`` and ``_judge`` execute in worker threads."""

    def __init__(
        self, run: PreparedRun, journal: Journal, engine: Engine, spending: Spending, progress: ProgressCallback
    ) -> None:
        self._run = run
        self._journal = journal
        self._spending = spending
        self._progress = progress
        self._engine = engine
        self._models = models = engine.models
        self._loop: TaskLoop[str] = TaskLoop(
            run.manifest.run_id,
            journal,
            spending,
            {GENERATE: Lane(models.generator_calls, self._generate), JUDGE: Lane(models.judge_calls, self._judge)},
        )
        self._unjudged: list[str] = []
        """Ids of answers that wait to be judged, because the generator needs the shared request slots."""
        self._before = {phase: len(journal.of(phase)) for phase in (GENERATE, JUDGE)}
        self._all_told = False

    def work(self) -> dict[str, float]:
        """Generate and judge the missing answers; return the seconds of each phase in this attempt. Phases overlap.

        Raises:
            BudgetReached, ProviderQuotaExhausted, RunError: the run ended early. Records stay; a resume does the rest.
            ProviderError: every request would fail, for example because of a refused key.
        """
        retrieved = self._journal.ok(RETRIEVE)
        ready = [query_id for query_id in self._run.query_ids if query_id in retrieved]
        with self._loop.winding_up():
            for query_id in self._journal.missing(GENERATE, ready):
                self._loop.give(GENERATE, query_id)
            answered = self._journal.ok(GENERATE)
            for query_id in self._journal.missing(JUDGE, [key for key in ready if key in answered]):
                self._hand_on(query_id)
            while self._loop.busy or self._unjudged:
                self._give_unjudged()
                self._tell()
                self._loop.step(self._recorded)
            self._tell()
        phases = (GENERATE, JUDGE) if self._models.judge else (GENERATE,)
        return {phase: self._loop.seconds(phase) for phase in phases}

    # --- executed in worker threads

    def _generate(self, query_id: str) -> Done:
        return self._do(Task(GENERATE, query_id, self._context(query_id)))

    def _judge(self, query_id: str) -> Done:
        response = generated_of(self._journal.of(GENERATE)[query_id]).response
        requests = len(self._run.settings.judge_metric_names)
        return self._do(Task(JUDGE, query_id, self._context(query_id), response), requests)

    def _do(self, task: Task, requests: int = 1) -> Done:
        with costed(self._spending, task.phase, requests) as spent:

            def replied(completion: Completion) -> None:
                spent.append(completion)
                self._spending.seen(task.phase, completion)

            return self._engine.do(task, replied)

    def _context(self, query_id: str) -> tuple[str, ...]:
        return tuple(retrieved_of(self._journal.of(RETRIEVE)[query_id]).generation_doc_ids or ())

    # --- executed in the run's thread

    def _recorded(self, record: QueryRecord) -> None:
        self._engine.recorded(record.phase, [record.query_id])
        if record.phase == GENERATE and record.status == "ok":
            self._hand_on(record.query_id)

    def _hand_on(self, query_id: str) -> None:
        """Pass an answer to the judge, unless it is an abstention."""
        if self._models.judge is not None and not generated_of(self._journal.of(GENERATE)[query_id]).abstained:
            self._unjudged.append(query_id)

    def _give_unjudged(self) -> None:
        """Pass waiting answers to the judge as far as the generator leaves request slots free."""
        if not self._models.share_calls or self._loop.waiting(GENERATE) < self._models.generator_calls:
            for query_id in self._unjudged:
                self._loop.give(JUDGE, query_id)
            self._unjudged.clear()

    def _tell(self) -> None:
        """Report the progress of the generator until it has ended, then that of the judge."""
        generated = not self._loop.open(GENERATE)
        if not (generated and self._all_told):
            self._tell_of(GENERATE)
            self._all_told = generated
        if generated and self._models.judge is not None:
            self._tell_of(JUDGE)

    def _tell_of(self, phase: str) -> None:
        done, spent = len(self._journal.of(phase)), self._spending.total
        total = len(self._run.queries) if phase == GENERATE else done + self._loop.open(JUDGE) + len(self._unjudged)
        self._progress(
            Progress(
                phase,
                done,
                total,
                self._loop.seconds_so_far(phase),
                self._before[phase],
                failed=self._journal.failed(phase),
                tokens=spent.tokens,
                cost_usd=None if spent.unpriced else spent.cost_usd,
            )
        )
