"""Plans and results of tunes as plain text."""

from __future__ import annotations

from chatbot_mvp.wings.tune.confirming import Difference
from chatbot_mvp.wings.tune.types import Application, Trial, TunePlan, TuneResult, TuneState, Undone

_SHOWN = 10  # configurations in the text; the JSON has all


def plan_text(plan: TunePlan) -> str:
    """Return a plan as plain text."""
    power, split = plan.power, plan.split
    variance = f"variance of a gain {power.variance:g}, {'measured by a pilot' if power.piloted else 'assumed'}"
    lines = [
        f"target       {plan.target}, metric {plan.metric}",
        f"today        {plan.today.strategy} (fingerprint {plan.today.config_id})",
        f"questions    {len(split.searching)} to search with, {len(split.confirming)} to confirm with; "
        f"no {split.by} on both sides ({split.groups} of them)",
        f"to try       {len(plan.configurations)} configurations that send no request"
        + (f", and {len(plan.with_model)} or more with a model" if plan.with_model else ""),
        "rounds       " + ", ".join(f"{count} on {size} questions" for count, size in plan.rounds),
        f"can show     a configuration that is better by {_points(power.from_80)} is found in 80 % of searches, by "
        f"{_points(power.from_95)} in 95 %",
        f"             one that the search has chosen is confirmed in 80 % from {_points(power.confirmed_from_80)} on "
        f"({variance})",
        f"ends         if nothing can gain {_points(plan.min_effect)}",
        f"work         at most {plan.retrievals:,} retrievals"
        + (f", about {_minutes(plan.seconds)}" if plan.seconds is not None else "; --pilot N tells how long they take"),
        f"requests     {_requests(plan)}",
    ]
    return "\n".join(line for line in lines if not line.endswith("rounds       "))


def result_text(result: TuneResult) -> str:
    """Return a result as plain text."""
    lines = [headline(result), ""]
    if result.winner and result.against_today:
        lines += [
            f"on {result.confirming} questions that the search has not seen (no {result.split_by} of the search):",
            f"  {result.metric}  today {result.today_score:.4f}, winner {result.winner_score:.4f}",
            f"  winner - today      {_difference(result.against_today)}",
        ]
        if result.against_runner_up:
            lines.append(f"  winner - runner-up  {_difference(result.against_runner_up)}")
        lines += [
            f"  {one.metric:<18}  today {one.today:.4f}, winner {one.winner:.4f}, change "
            f"[{one.low:+.4f}, {one.high:+.4f}] on {one.questions} questions"
            for one in result.others
        ]
        lines += ["", f"winner     {result.winner.label}  ({result.winner.config_id})"]
        if result.runner_up:
            lines.append(f"runner-up  {result.runner_up.label}  ({result.runner_up.config_id})")
    lines += ["", "best trade-offs of quality, cost and time in the search:"]
    lines += [_trial(one, result) for one in result.front[:_SHOWN]]
    tried = len(result.trials) - 1
    ended = "; ended early, because nothing could gain the smallest effect" if result.ended else ""
    lines += ["", f"{tried} configurations tried in {_minutes(result.seconds)}, {result.cost_usd:.4f} USD{ended}"]
    if result.recommended:
        lines.append(f"To use the winner: chatbot-mvp tune apply {result.tune_id}")
    return "\n".join(lines)


def headline(result: TuneResult) -> str:
    """Return the outcome in one sentence."""
    if result.verdict == "better" and result.against_today:
        return f"BETTER: the winner gains {_points(result.against_today.gain)} of {result.metric}."
    if result.verdict == "too_small" and result.against_today:
        return (
            f"Keep what you have: the winner gains {_points(result.against_today.gain)} of {result.metric}, less than "
            f"the smallest effect worth having."
        )
    if result.verdict == "no_difference":
        return "No difference found: keep what you have."
    return "No difference found: no configuration was better in the search. Keep what you have."


def state_line(state: TuneState) -> str:
    """Return a tune as one line of a list."""
    shown: str = state.state
    if state.job is not None and state.job.active:
        shown = f"{state.job.state} {state.job.done}/{state.job.total}"
    elif state.result:
        shown = state.result.verdict + (", applied" if state.applied else "")
    return f"{state.tune_id}  {state.plan.target}  {state.plan.metric}  {shown}"


def application_text(made: Application) -> str:
    """Return what applying changed as plain text."""
    if not made.changes:
        return "The settings in effect are already those of the configuration."
    lines = [f"{name.upper()}: {before} -> {after}" for name, (before, after) in made.changes.items()]
    return "\n".join([*lines, "In effect for all chats and runs; chatbot-mvp tune undo restores what was there."])


def undone_text(undone: Undone) -> str:
    """Return what undoing changed as plain text."""
    lines = [f"{name.upper()}: {value}" for name, value in undone.restored.items()]
    if undone.kept:
        lines.append(f"changed since and left as they are: {', '.join(name.upper() for name in undone.kept)}")
    return "\n".join([f"undone: {undone.tune_id}", *lines])


def _difference(found: Difference) -> str:
    return (
        f"{found.gain:+.4f}, 95 % interval [{found.low:+.4f}, {found.high:+.4f}], p {found.p:.4f}, with Holm "
        f"{found.p_holm:.4f}; {found.better} questions better, {found.worse} worse"
    )


def _trial(trial: Trial, result: TuneResult) -> str:
    seconds = "-" if trial.seconds_p50 is None else f"{1_000 * trial.seconds_p50:.0f} ms"
    context = "" if trial.context_chars is None else f", {trial.context_chars:,.0f} characters of context"
    cost = f", {trial.cost_usd:.4f} USD per 1,000 questions" if trial.configuration.sends_requests else ""
    quality = f"{result.metric} {trial.score:.4f} ({trial.gain:+.4f})"
    return f"  {quality}, {seconds}{context}{cost}: {trial.configuration.label}"


def _points(value: float | None) -> str:
    return "more than 50 points" if value is None else f"{100 * value:.3g} points"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _requests(plan: TunePlan) -> str:
    if not (plan.with_model or plan.today.sends_requests):
        return "none"
    calls = "unknown number of calls" if plan.calls is None else f"up to {plan.calls:,} calls"
    cost = "at an unknown price" if plan.cost_usd is None else f"up to {plan.cost_usd:.4f} USD"
    return f"{calls}, {cost}; budget {plan.budget_usd} USD"
