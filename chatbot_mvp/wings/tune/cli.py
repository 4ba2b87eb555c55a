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
from chatbot_mvp.wings.tune.errors import TuneError
from chatbot_mvp.wings.tune.reports import application_text, plan_text, result_text, state_line, undone_text
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.space import MOST
from chatbot_mvp.wings.tune.types import MIN_EFFECT, SEED, TuneOptions, TuneResult, TuneState

tune = typer.Typer()

ConfigOption = Annotated[
    str, typer.Option("--config", metavar="ID", help="Configuration as `tune show` lists it; by default the winner")
]


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
    """Find the best configuration for a knowledge base or a data set. Ctrl-C stops it safely; ``resume`` continues."""
    app = open_app(env, verbose)
    target = kb_of(app, target)
    options = TuneOptions(metric, min_effect, most, seed, with_model, budget, space)
    with ProgressLine() as progress:
        made = app.get(Tuner).plan(target, questions, options, pilot, progress)
    if plan:
        if as_json:
            print_json({"plan": asdict(made)})
        else:
            say(plan_text(made))
            say("Nothing was started.")
        return
    say(plan_text(made), error=True)
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
    """Continue a stopped or killed tune: measure what is missing."""
    app = open_app(env, verbose)
    if not tune_id:
        unfinished = [state.tune_id for state in app.get(Tuner).tunes() if state.state == "unfinished"]
        if not unfinished:
            raise TuneError("tune_not_found", tune_id="unfinished")
        tune_id = unfinished[0]
    _carry_out(app, tune_id, as_json)


@tune.command("list")
def tune_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """List tunes, newest first."""
    states = open_app(env).get(Tuner).tunes()
    if as_json:
        print_json({"tunes": [_state_json(state) for state in states]})
        return
    for state in states:
        say(state_line(state))


@tune.command("show")
def tune_show(tune_id: str, env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Show the result of a finished tune."""
    _print(open_app(env).get(Tuner).result(tune_id), as_json)


@tune.command("apply")
def tune_apply(
    tune_id: str,
    config: ConfigOption = "",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Use the winner of a tune for all chats and runs. ``undo`` restores what was there."""
    made = open_app(env).get(Tuner).apply(tune_id, config)
    if as_json:
        changes = {name: {"before": before, "after": after} for name, (before, after) in made.changes.items()}
        print_json({"tune_id": tune_id, "config_id": made.configuration.config_id, "changes": changes})
        return
    say(application_text(made))


@tune.command("undo")
def tune_undo(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Restore the settings as they were before the latest ``apply``."""
    undone = open_app(env).get(Tuner).undo()
    if as_json:
        print_json(asdict(undone))
        return
    say(undone_text(undone))


def _carry_out(app: App, tune_id: str, as_json: bool) -> None:
    with ProgressLine() as progress:
        result = app.get(Tuner).resume_now(tune_id, progress)
    _print(result, as_json)


def _print(result: TuneResult, as_json: bool) -> None:
    if as_json:
        print_json(asdict(result))
    else:
        say(result_text(result))


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
