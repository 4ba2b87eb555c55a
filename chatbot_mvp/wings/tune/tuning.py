"""Carry out a tune: search without and with a model, confirm on the untouched questions, and draw up the result.

Every step depends on the plan and the records alone, so that a resume is the same call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chatbot_mvp.metrics.registry import COMPARED, METRICS
from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import paired_interval
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.wings.tune.confirming import Difference, Verdict, differences, verdict_of
from chatbot_mvp.wings.tune.halving import Searched, front, halving
from chatbot_mvp.wings.tune.space import Configuration, Knob, with_model
from chatbot_mvp.wings.tune.trials import CONFIRM, SEARCH, Trials
from chatbot_mvp.wings.tune.types import MetricChange, Trial, TunePlan, TuneResult


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What the searches found."""

    order: tuple[Configuration, ...]
    """Configurations of the last rounds, the best first."""
    searches: tuple[tuple[tuple[Configuration, ...], Searched], ...]
    """(configurations, search) without and with a model."""

    @property
    def ended(self) -> str:
        """Why all searches ended early; "" if one did not."""
        reasons = {searched.ended for _, searched in self.searches}
        return reasons.pop() if len(reasons) == 1 else ""


def tune(tune_id: str, plan: TunePlan, trials: Trials) -> TuneResult:
    """Search and confirm.

    Raises:
        RunStopped, RunError, ConfigurationError, ProviderError: as a run does; the records stay.
    """
    ranked = _search(plan, trials)
    leader = ranked.order[0]
    found = not ranked.ended and _gain(plan, trials, leader).mean() > 0
    winner = leader if found else None
    runner_up = _runner_up(plan, trials, ranked.order) if winner else None
    against: list[Difference] = []
    verdict: Verdict = "nothing_found"
    scores: dict[str, Floats] = {}
    if winner:
        asked = plan.split.confirming
        for one in filter(None, (plan.today, winner, runner_up)):
            scores[one.config_id] = trials.scores(one, asked, plan.metric, CONFIRM)
        others = [one for one in (plan.today, runner_up) if one]
        against = differences([scores[winner.config_id] - scores[one.config_id] for one in others])
        verdict = verdict_of(against[0], plan.min_effect)
    sign = 1.0 if plan.higher_is_better else -1.0
    means = {config_id: sign * float(values.mean()) for config_id, values in scores.items()}
    return TuneResult(
        tune_id=tune_id,
        target=plan.target,
        kb_id=plan.kb_id,
        metric=plan.metric,
        min_effect=plan.min_effect,
        verdict=verdict,
        recommended=verdict == "better",
        today=plan.today,
        winner=winner,
        runner_up=runner_up,
        today_score=means.get(plan.today.config_id),
        winner_score=means.get(winner.config_id) if winner else None,
        against_today=against[0] if against else None,
        against_runner_up=against[1] if len(against) > 1 else None,
        others=_other_metrics(plan, trials, winner) if winner else (),
        trials=_trials(plan, trials, ranked),
        rounds=tuple((len(one.tried), one.questions) for _, searched in ranked.searches for one in searched.rounds),
        ended=ranked.ended,
        searching=len(plan.split.searching),
        confirming=len(plan.split.confirming),
        split_by=plan.split.by,
        power=plan.power,
        seconds=0.0,
        cost_usd=round(trials.spent_usd, 6),
        finished_at=utc_now(),
    )


def _search(plan: TunePlan, trials: Trials) -> _Ranked:
    searches: list[tuple[tuple[Configuration, ...], Searched]] = []
    if plan.configurations:
        searches.append((plan.configurations, _halved(plan, plan.configurations, trials)))
    if plan.knobs_with_model:
        bases = [plan.today.changes]
        if searches:
            best = searches[0][0][searches[0][1].ranking[0]]
            if _gain(plan, trials, best).mean() > 0:
                bases.append(best.changes)
        knobs = [Knob(name, options) for name, options in plan.knobs_with_model]
        asking = tuple(with_model(trials.today, bases, knobs, trials.of_run))
        searches.append((asking, _halved(plan, asking, trials)))
    # Configurations without a model come first, and the order is kept among equals.
    last = [tried[row] for tried, searched in searches for row in searched.ranking]
    complete = [one for one in last if len(trials.measure(one, (), SEARCH)) >= len(plan.split.searching)]
    order = complete or last
    return _Ranked(
        tuple(sorted(order, key=lambda one: -round(float(_gain(plan, trials, one).mean()), 9))), tuple(searches)
    )


def _halved(plan: TunePlan, tried: Sequence[Configuration], trials: Trials) -> Searched:
    asked = plan.split.searching

    def gains(rows: Sequence[int], size: int) -> Floats:
        base = trials.scores(plan.today, asked[:size], plan.metric, SEARCH)
        found = np.empty((len(rows), size))
        for at in sorted(range(len(rows)), key=lambda at: (_indexes(tried[rows[at]]), rows[at])):
            found[at] = trials.scores(tried[rows[at]], asked[:size], plan.metric, SEARCH) - base
        return found

    return halving(len(tried), len(asked), gains, plan.min_effect)


def _indexes(configuration: Configuration) -> tuple[object, ...]:
    """Return a key that is equal for configurations that share indexes and first stages, to measure them in a row."""
    changes = configuration.changes
    names = ("retrieval_chunk_chars", "retrieval_expansion", "retrieval_pre_fusion_k")
    return (configuration.strategy, *(changes.get(name, 0) for name in names))


def _gain(plan: TunePlan, trials: Trials, configuration: Configuration) -> Floats:
    """Return the gains over today's configuration on the questions of the search that a configuration answered."""
    known = trials.measure(configuration, (), SEARCH)
    asked = [query_id for query_id in plan.split.searching if query_id in known]
    one, base = (trials.scores(each, asked, plan.metric, SEARCH) for each in (configuration, plan.today))
    return one - base


def _runner_up(plan: TunePlan, trials: Trials, order: Sequence[Configuration]) -> Configuration | None:
    """Return the best configuration that scored otherwise than the winner; None if all scored alike."""
    best = _gain(plan, trials, order[0])
    return next((one for one in order[1:] if not np.array_equal(_gain(plan, trials, one), best)), None)


def _other_metrics(plan: TunePlan, trials: Trials, winner: Configuration) -> tuple[MetricChange, ...]:
    """Return the other compared metrics on all questions that the search has not seen, also those without a passage."""
    sides = [trials.measure(one, plan.untouched, CONFIRM) for one in (plan.today, winner)]
    found = []
    for name in COMPARED:
        pairs = [tuple(rows[query_id].score(name) for rows in sides) for query_id in plan.untouched]
        scored = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
        if name == plan.metric or name not in METRICS or not len(scored):
            continue
        low, high = paired_interval(scored[:, 1] - scored[:, 0])
        today, best = scored.mean(axis=0).tolist()
        found.append(MetricChange(metric=name, today=today, winner=best, low=low, high=high, questions=len(scored)))
    return tuple(found)


def _trials(plan: TunePlan, trials: Trials, ranked: _Ranked) -> tuple[Trial, ...]:
    rounds: dict[str, int] = {}
    for tried, searched in ranked.searches:
        for one in searched.rounds:
            for row in one.tried:
                rounds[tried[row].config_id] = rounds.get(tried[row].config_id, 0) + 1
    everyone = [one for tried, _ in ranked.searches for one in tried]
    made = [_trial(plan, trials, one, rounds.get(one.config_id, 0)) for one in (plan.today, *everyone)]
    made[1:] = sorted(made[1:], key=lambda one: (-one.questions, -one.gain))
    most = made[0].questions
    last = [row for row, one in enumerate(made) if one.questions == most]
    points = [
        (made[row].gain, made[row].cost_usd, _step(made[row].seconds_p50), made[row].context_chars or 0.0)
        for row in last
    ]
    kept = {last[at] for at in front(points)}
    return tuple(replace(one, on_front=row in kept) for row, one in enumerate(made))


def _step(seconds: float | None) -> float:
    """Return seconds in steps of a quarter, because smaller differences are those of a busy machine."""
    return float(round(math.log(max(seconds or 0.0, 1e-4), 1.25)))


def _trial(plan: TunePlan, trials: Trials, configuration: Configuration, rounds: int) -> Trial:
    known = trials.measure(configuration, (), SEARCH)
    asked = [query_id for query_id in plan.split.searching if query_id in known]
    scores = trials.scores(configuration, asked, plan.metric, SEARCH)
    cost = trials.cost(configuration)
    sign = 1.0 if plan.higher_is_better else -1.0
    return Trial(
        configuration=configuration,
        questions=len(asked),
        rounds=rounds,
        score=sign * float(scores.mean()) if asked else 0.0,
        gain=float(_gain(plan, trials, configuration).mean()) if asked else 0.0,
        seconds_p50=cost.seconds_p50,
        context_chars=cost.context_chars,
        cost_usd=round(1_000 * cost.usd, 6),
        on_front=False,
    )
