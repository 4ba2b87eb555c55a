"""The generation and judging phases of a run, in parallel and within the providers' limits.

Generator and judge have separate threads, and each answer is passed on as it arrives, so that a slow judge does not
delay the generator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.benchmark import generation, judgement
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun
from chatbot_mvp.evaluation.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.llm.registry import address_of, requests_at_once
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import generated_of, retrieved_of
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.runs.task_loop import Done, Lane, TaskLoop, costed, failed_task
from chatbot_mvp.runs.usage import Spent
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback

GENERATE, JUDGE = generation.PHASE, judgement.PHASE


@dataclass(frozen=True)
class RunModels:
    """The models that answer and judge in a run."""

    generator: ChatModel
    generator_calls: int
    """Maximum number of concurrent requests, at least 1."""
    judge: ChatModel | None
    """None if answers are not judged."""
    judge_calls: int = 1
    share_calls: bool = False
    """True if generator and judge use the same address and therefore share its limit of concurrent requests."""


def run_models(settings: Settings, providers: Providers) -> RunModels:
    """Return the models that a run's settings name, with the maximum number of concurrent requests for each.

    Raises:
        UnknownChoice, ProviderNotConfigured, MissingPackage, InvalidSetting: the generator or the judge cannot be used.
    """
    judging = settings.of_judge if settings.judge else None
    return RunModels(
        providers.model(settings),
        requests_at_once(settings),
        providers.model(judging) if judging else None,
        requests_at_once(judging) if judging else 1,
        share_calls=judging is not None and address_of(judging) == address_of(settings),
    )


def answer(
    run: PreparedRun, journal: Journal, models: RunModels, spending: Spending, progress: ProgressCallback
) -> dict[str, float]:
    """Generate and judge the missing answers; return the seconds of each phase in this attempt. Phases overlap.

    Raises:
        BudgetReached, ProviderQuotaExhausted, RunGaveUp: the run ended early. Records stay; a resume does the rest.
        ProviderError: every request would fail, for example because of a refused key.
    """
    return _Answering(run, journal, models, spending, progress).work()


class _Answering:
    """One attempt at answering and judging. Only ``_generate`` and ``_judge`` execute in worker threads."""

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
        self._models = models
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
        phases = (GENERATE, JUDGE) if self._judge_model else (GENERATE,)
        return {phase: self._loop.seconds(phase) for phase in phases}

    # --- executed in worker threads

    def _generate(self, query_id: str) -> Done:
        query = self._queries[query_id]
        with costed(self._spending, GENERATE) as spent:
            try:
                request = generation.generation_request(
                    query, self._run.corpus.passages(self._context(query_id)), self._language, self._run.settings
                )
                completion = self._generator.complete(request)
            except ChatbotError as error:
                return failed_task(self._run.manifest.run_id, query_id, GENERATE, error)
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
        return Done(QueryRecord(self._run.manifest.run_id, query_id, GENERATE, "ok", payload))

    def _judge(self, query_id: str) -> Done:
        assert self._judge_model is not None
        query, response = self._queries[query_id], generated_of(self._journal.of(GENERATE)[query_id]).response
        passages = self._run.corpus.passages(self._context(query_id))
        scores: dict[str, float | None] = {}
        reasons, raw = {}, {}
        passing = False
        with costed(self._spending, JUDGE, len(self._run.settings.judge_metric_names)) as spent:
            try:
                for metric in self._run.settings.judge_metric_names:
                    found = judgement.judge(self._judge_model, metric, query.text, response, passages, self._language)
                    spent.extend(found.completions)
                    scores[metric], reasons[metric] = found.score, found.reason
                    if found.score is None:
                        raw[metric] = found.raw
                        passing = passing or found.passing
            except ChatbotError as error:
                return failed_task(self._run.manifest.run_id, query_id, JUDGE, error)
        unscored = [metric for metric, score in scores.items() if score is None]
        payload: dict[str, Any] = {"scores": scores, "reasons": reasons, "model": self._judge_model.name}
        payload["usage"] = Spent.total(Spent.of(completion) for completion in spent).to_json()
        if raw:
            payload["raw"] = raw
        error_text = f"not scored: {', '.join(unscored)}" if unscored else None
        status: Literal["ok", "failed"] = "failed" if unscored else "ok"
        return Done(QueryRecord(self._run.manifest.run_id, query_id, JUDGE, status, payload, error_text), passing)

    def _context(self, query_id: str) -> list[str]:
        return list(retrieved_of(self._journal.of(RETRIEVE)[query_id]).generation_doc_ids or ())

    @property
    def _language(self) -> str:
        return self._run.language

    # --- executed in the run's thread

    def _recorded(self, record: QueryRecord) -> None:
        if record.phase == GENERATE and record.status == "ok":
            self._hand_on(record.query_id)

    def _hand_on(self, query_id: str) -> None:
        """Pass an answer to the judge, unless it is an abstention."""
        if self._judge_model is not None and not generated_of(self._journal.of(GENERATE)[query_id]).abstained:
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
        if generated and self._judge_model is not None:
            self._tell_of(JUDGE)

    def _tell_of(self, phase: str) -> None:
        done, spent = len(self._journal.of(phase)), self._spending.total
        total = len(self._queries) if phase == GENERATE else done + self._loop.open(JUDGE) + len(self._unjudged)
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
