"""Plan a tune: the configurations, the halves of the questions, what they can show, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp import __version__
from chatbot_mvp.datasets.catalogue import Found
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.lengths import estimate_from_lengths
from chatbot_mvp.evaluation.benchmark.pilot import spread
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.evaluation.kb.corpus import KbCorpus
from chatbot_mvp.metrics.registry import METRICS, ranking_metrics
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.wings.tune.errors import TuneError
from chatbot_mvp.wings.tune.halving import round_plan, round_sizes
from chatbot_mvp.wings.tune.power import power_of
from chatbot_mvp.wings.tune.space import (
    FREE,
    WITH_MODEL,
    Configuration,
    Knob,
    OfRun,
    configuration_of,
    configurations,
    read_space,
    split_knobs,
    with_model,
)
from chatbot_mvp.wings.tune.splitting import scored_questions, split_questions
from chatbot_mvp.wings.tune.trials import SEARCH, Trials
from chatbot_mvp.wings.tune.types import TuneOptions, TunePlan

LEAST_QUESTIONS = 20
"""Fewest scored questions that a tune accepts: with ten on each side hardly any difference can be shown."""
_MAIN = {True: "hit@3", False: "recall@5"}
_DEEPEST = 3  # cutoff that a run over a knowledge base scores at least


@dataclass(frozen=True, slots=True)
class PilotFigures:
    """What a pilot measured."""

    variance: float
    """Mean variance of the gains of a configuration over today's."""
    seconds_each: float
    """Seconds of one retrieval."""


class Planner:
    """Makes the plan of one tune."""

    def __init__(
        self,
        found: Found,
        corpus: RunCorpus,
        today: Settings,
        of_run: OfRun,
        parts: RunParts,
        options: TuneOptions,
    ) -> None:
        """
        Args:
            found: the target.
            corpus: what runs over the target measure.
            today: the settings in effect, for runs over the target.
            of_run: returns the settings of a run.
        """
        self._found = found
        self._corpus = corpus
        self._today = today
        self._of_run = of_run
        self._parts = parts
        self._options = options
        self._is_kb = isinstance(corpus, KbCorpus)

    def plan(self, pilot: PilotFigures | None = None) -> TunePlan:
        """Return the plan.

        Raises:
            TuneError
            InvalidSetting: a value of the space is not legal.
        """
        options, dataset = self._options, self._corpus.dataset
        metric = self._metric()
        self._check_options()
        scored = scored_questions(self._corpus)
        if len(scored) < LEAST_QUESTIONS:
            raise TuneError(
                "tune_too_few_questions",
                name=dataset.name,
                needed=LEAST_QUESTIONS,
                scored=len(scored),
                total=len(dataset.queries),
            )
        today = configuration_of(self._today, {}, self._of_run)
        self._check_budget(today)
        free, knobs = self._knobs()
        tried = configurations(self._today, free, options.most, options.seed, self._of_run)
        asking = with_model(self._today, [{}], knobs, self._of_run) if knobs else []
        if not tried and not asking:
            what = "the built-in space" if options.space is None else f"the file {options.space}"
            raise TuneError(
                "tune_space_empty", found=f"{what} gives no configuration that differs from today's without a model"
            )
        split = split_questions(self._corpus, options.seed)
        rounds = round_plan(len(tried), len(split.searching)) if tried else ()
        retrievals = self._retrievals(rounds, 2 * len(asking), split.searching, len(dataset.queries), len(scored))
        calls, usd = self._cost([today, *asking])
        known = set(scored)
        return TunePlan(
            target=dataset.name,
            reference=self._found.reference,
            kb_id=self._corpus.facts().get("kb_id", ""),
            dataset_sha256=dataset.sha256,
            code_version=__version__,
            metric=metric,
            higher_is_better=METRICS[metric].higher_is_better,
            min_effect=options.min_effect,
            today=today,
            settings=self._today.model_dump(mode="json", exclude={"data_dir"}),
            configurations=tuple(tried),
            with_model=tuple(asking),
            knobs_with_model=tuple((knob.name, tuple(dict(option) for option in knob.options)) for knob in knobs),
            budget_usd=options.budget_usd,
            questions=len(dataset.queries),
            split=split,
            unscored=tuple(query.query_id for query in dataset.queries if query.query_id not in known),
            rounds=rounds,
            retrievals=retrievals,
            power=power_of(
                len(split.searching),
                len(split.confirming),
                len(tried) + 2 * len(asking),
                options.min_effect,
                pilot.variance if pilot else None,
            ),
            seconds=None if pilot is None else round(pilot.seconds_each * retrievals, 1),
            seconds_each=None if pilot is None else round(pilot.seconds_each, 4),
            calls=calls,
            cost_usd=usd,
            seed=options.seed,
            created_at=utc_now(),
        )

    def pilot(self, plan: TunePlan, trials: Trials, count: int) -> PilotFigures:
        """Measure some configurations without a model on the questions of the first round.

        Args:
            count: number of configurations, 1 or more.

        Raises:
            RunStopped, RunError, ProviderError
        """
        asked = plan.split.searching[: round_sizes(len(plan.split.searching))[0]]
        base = trials.scores(plan.today, asked, plan.metric, SEARCH)  # this also builds the indexes
        chosen = spread(plan.configurations, count, plan.seed)
        started = time.monotonic()
        gains = [trials.scores(one, asked, plan.metric, SEARCH) - base for one in chosen]
        seconds = (time.monotonic() - started) / max(1, len(chosen) * len(asked))
        variances = [float(np.var(one, ddof=1)) for one in gains if len(one) > 1]
        return PilotFigures(float(np.mean(variances)) if variances else 0.0, seconds)

    def _metric(self) -> str:
        deepest = max(_DEEPEST, self._today.kb_top_k) if self._is_kb else self._today.retrieval_k
        families = ("hit", "mrr") if self._is_kb else None
        legal = [name for name, spec in ranking_metrics(deepest).items() if families is None or spec.family in families]
        name = self._options.metric or _MAIN[self._is_kb]
        if name not in legal:
            raise TuneError("tune_option_invalid", name="--metric", found=name, reason=f"legal: {', '.join(legal)}")
        return name

    def _check_options(self) -> None:
        options = self._options
        if not 0 < options.min_effect < 1:
            raise TuneError(
                "tune_option_invalid", name="--min-effect", found=options.min_effect, reason="it lies between 0 and 1"
            )
        if options.most < 1:
            raise TuneError(
                "tune_option_invalid", name="--most", found=options.most, reason="at least 1 configuration is tried"
            )
        if options.budget_usd is not None and not 0 <= options.budget_usd < float("inf"):
            raise TuneError("tune_option_invalid", name="--budget", found=options.budget_usd, reason="it is 0 or more")

    def _check_budget(self, today: Configuration) -> None:
        options = self._options
        if options.with_model and options.budget_usd is None:
            raise TuneError("tune_needs_budget", what="a model")
        if today.sends_requests and not options.with_model:
            raise TuneError("tune_needs_budget", what="the servers that today's configuration asks")

    def _knobs(self) -> tuple[Sequence[Knob], Sequence[Knob]]:
        options = self._options
        if options.space is None:
            kind = self._corpus.kind
            free, asking = (tuple(knob for knob in knobs if kind in knob.kinds) for knobs in (FREE, WITH_MODEL))
        else:
            free, asking = split_knobs(self._today, read_space(options.space))
        if not options.with_model:
            return free, ()
        model = self._parts.providers.language_model(self._today)
        if model is None:
            raise TuneError("tune_needs_model", provider=self._today.chosen_provider)
        return free, asking

    def _retrievals(
        self, rounds: Sequence[tuple[int, int]], asking: int, searching: Sequence[str], questions: int, scored: int
    ) -> int:
        """Return how many questions are searched in all, at most."""
        total, before = len(searching), 0
        for count, size in rounds:
            total += count * (size - before)
            before = size
        before = 0
        for count, size in round_plan(asking, len(searching)) if asking else ():
            total += count * (size - before)
            before = size
        untouched = questions - len(searching)
        return total + 2 * untouched + scored - len(searching)  # today's, the winner and the runner-up

    def _cost(self, asking: Sequence[Configuration]) -> tuple[int | None, float | None]:
        """Return (requests, US dollars) from the lengths of texts, if every configuration is measured completely."""
        calls, usd = 0, 0.0
        priced = True
        for one in asking:
            if not one.sends_requests:
                continue
            settings = self._of_run(self._today.with_changes(**one.changes))
            estimate = estimate_from_lengths(self._corpus, settings)
            if estimate is None:
                return None, None
            calls += round(estimate.total.calls.expected)
            if estimate.total.cost_usd is None:
                priced = False
            else:
                usd += estimate.total.cost_usd.expected
        return calls, round(usd, 4) if priced else None


def require_same(tune_id: str, plan: TunePlan, corpus: RunCorpus, settings: Settings, of_run: OfRun) -> None:
    """Check that a plan still describes what would be measured.

    Raises:
        TuneError (tune_mismatch)
    """
    now = {
        "code_version": __version__,
        "dataset_sha256": corpus.dataset.sha256,
        "fingerprint": configuration_of(settings, {}, of_run).config_id,
    }
    then = {
        "code_version": plan.code_version,
        "dataset_sha256": plan.dataset_sha256,
        "fingerprint": plan.today.config_id,
    }
    for name, value in now.items():
        if then[name] != value:
            raise TuneError(
                "tune_mismatch", tune_id=tune_id, difference=f"{name} was {then[name]!r} and is now {value!r}"
            )
