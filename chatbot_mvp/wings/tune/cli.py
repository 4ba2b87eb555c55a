"""The commands of ``tune``: find the best configuration, continue, list, show, apply, undo."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from chatbot_mvp.app import App
from chatbot_mvp.cli.common import EnvOption, JsonOption, VerboseOption, kb_of, open_app, print_json
from chatbot_mvp.cli.limits import finite_option
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.tune.confirming import Difference
from chatbot_mvp.wings.tune.errors import TuneError
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.space import MOST
from chatbot_mvp.wings.tune.types import (
    MIN_EFFECT,
    SEED,
    Application,
    Trial,
    TuneOptions,
    TunePlan,
    TuneResult,
    TuneState,
    Undone,
)

tune = typer.Typer()

ConfigOption = Annotated[
    str, typer.Option("--config", metavar="ID", help="Configuration as `tune show` lists it; by default the winner")
]

_SHOWN = 10  # configurations in the text; the JSON has all


@tune.command("run")
def tune_run(
    target: Annotated[
        str, typer.Argument(metavar="KB|DATASET", help="Name or id of a knowledge base, a document, or a data set")
    ],
    questions: Annotated[
        str,
        typer.Option(help="Of a knowledge base: JSONL file or id of a question set; by default the newest set"),
    ] = "",
    metric: Annotated[str, typer.Option(help="Metric to improve; by default hit@3, of a data set recall@5")] = "",
    min_effect: Annotated[
        float, typer.Option(callback=finite_option, help="Smallest gain worth having; 0.02 is 2 points")
    ] = MIN_EFFECT,
    most: Annotated[int, typer.Option(min=1, max=2_000, help="Maximum configurations that send no request")] = MOST,
    space: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML or JSON file of settings with the values to try")
    ] = None,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Also try configurations that ask a model; needs --budget")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Maximum cost of all requests to models")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the split of the questions and the drawn combinations")] = SEED,
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be done, and do nothing")] = False,
    pilot: Annotated[
        int,
        typer.Option(min=0, max=50, metavar="N", help="Measure N configurations on a few questions for the plan"),
    ] = 0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    app = open_app(env, verbose)
    target = kb_of(app, target)
    options = TuneOptions(metric, min_effect, most, seed, with_model, budget, space)
    with ProgressLine() as progress:
        made = app.get(Tuner).plan(target, questions, options, pilot, progress)
    if plan:
        if as_json:
            print_json({"plan": asdict(made)})
        else:
            say(_plan_text(made))
            say("Nothing was started.")
        return
    say(_plan_text(made), error=True)
    if not (yes or as_json) and sys.stdin.isatty():
        typer.confirm("Start?", abort=True, err=True)
    _carry_out(app, app.get(Tuner).create(made), as_json)


@tune.command("resume")
def tune_resume(
    tune_id: Annotated[str, typer.Argument(metavar="[TUNE]", help="By default the newest unfinished one")] = "",
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    app = open_app(env, verbose)
    if not tune_id:
        unfinished = [state.tune_id for state in app.get(Tuner).tunes() if state.state == "unfinished"]
        if not unfinished:
            raise TuneError("tune_not_found", tune_id="unfinished")
        tune_id = unfinished[0]
    _carry_out(app, tune_id, as_json)


@tune.command("list")
def tune_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    states = open_app(env).get(Tuner).tunes()
    if as_json:
        print_json({"tunes": [_state_json(state) for state in states]})
        return
    for state in states:
        say(_state_line(state))


@tune.command("show")
def tune_show(tune_id: str, env: EnvOption = None, as_json: JsonOption = False) -> None:
    _print(open_app(env).get(Tuner).result(tune_id), as_json)


@tune.command("apply")
def tune_apply(
    tune_id: str,
    config: ConfigOption = "",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    made = open_app(env).get(Tuner).apply(tune_id, config)
    if as_json:
        changes = {name: {"before": before, "after": after} for name, (before, after) in made.changes.items()}
        print_json({"tune_id": tune_id, "config_id": made.configuration.config_id, "changes": changes})
        return
    say(_application_text(made))


@tune.command("undo")
def tune_undo(env: EnvOption = None, as_json: JsonOption = False) -> None:
    undone = open_app(env).get(Tuner).undo()
    if as_json:
        print_json(asdict(undone))
        return
    say(_undone_text(undone))


def _carry_out(app: App, tune_id: str, as_json: bool) -> None:
    with ProgressLine() as progress:
        result = app.get(Tuner).resume_now(tune_id, progress)
    _print(result, as_json)


def _print(result: TuneResult, as_json: bool) -> None:
    if as_json:
        print_json(asdict(result))
    else:
        say(_result_text(result))


def _state_json(state: TuneState) -> dict[str, object]:
    return {
        "tune_id": state.tune_id,
        "target": state.plan.target,
        "metric": state.plan.metric,
        "created_at": state.plan.created_at,
        "state": state.state,
        "verdict": state.result.verdict if state.result else None,
        "applied": state.applied,
    }


def _plan_text(plan: TunePlan) -> str:
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


def _result_text(result: TuneResult) -> str:
    lines = [_headline(result), ""]
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


def _headline(result: TuneResult) -> str:
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


def _state_line(state: TuneState) -> str:
    shown: str = state.state
    if state.job is not None and state.job.active:
        shown = f"{state.job.state} {state.job.done}/{state.job.total}"
    elif state.result:
        shown = state.result.verdict + (", applied" if state.applied else "")
    return f"{state.tune_id}  {state.plan.target}  {state.plan.metric}  {shown}"


def _application_text(made: Application) -> str:
    if not made.changes:
        return "The settings in effect are already those of the configuration."
    lines = [f"{name.upper()}: {before} -> {after}" for name, (before, after) in made.changes.items()]
    return "\n".join([*lines, "In effect for all chats and runs; chatbot-mvp tune undo restores what was there."])


def _undone_text(undone: Undone) -> str:
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
