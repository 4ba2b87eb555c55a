"""``chatbot-mvp benchmark``: run, resume, retry, show, list, compare, export, import."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.cli.common import (
    EnvOption,
    JsonOption,
    PresetOption,
    SplitOption,
    VerboseOption,
    open_app,
    print_json,
    with_split,
)
from chatbot_mvp.cli.limits import (
    FailUnderOption,
    MaxDropOption,
    drops_json,
    levels_of,
    report_drops,
    report_levels,
)
from chatbot_mvp.cli.printing import chosen_history, history_text, print_plan
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.errors import NothingScored
from chatbot_mvp.evaluation.drops.verdict import tested_drops
from chatbot_mvp.exports.base import write_files
from chatbot_mvp.exports.comparison_text import comparison_text
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.lists import main_metric
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import misnamed_settings
from chatbot_mvp.terminal import say

_FAULTS_SHOWN = 5

benchmark = typer.Typer()

BudgetOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="USD", help="Stop before the run costs more, earlier attempts included"),
]


def _print(result: RunResult, as_json: bool) -> None:
    """Print a finished run as its kind is printed."""
    attribute(run_kind(result.kind).prints)(result, as_json)


def _print_new(result: RunResult, as_json: bool) -> None:
    """Print a run that has just ended.

    Raises:
        NothingScored: no metric scored any query, so that the figures say nothing about the configuration.
    """
    if not any(scored for scored, _ in result.scored.values()):
        raise NothingScored("nothing_scored", run_id=result.run_id, queries=result.queries)
    _print(result, as_json)


@benchmark.command("run")
def benchmark_run(
    dataset: Annotated[
        str | None, typer.Option(help="Data set: a name, a folder, s3://bucket/…/name, or kb:KB/QUESTIONS")
    ] = None,
    split: SplitOption = None,
    preset: PresetOption = None,
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    max_queries: Annotated[int | None, typer.Option(min=0, help="Maximum queries; 0 = all")] = None,
    generation: Annotated[
        bool | None, typer.Option("--generation/--no-generation", help="Generate answers and score them")
    ] = None,
    budget: BudgetOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only")] = False,
    pilot: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --dry-run: execute N queries to estimate the whole run"),
    ] = None,
    export: Annotated[
        list[str] | None, typer.Option(metavar="FORMAT", help="Also write this format, as `export` does; repeatable")
    ] = None,
    fail_under: FailUnderOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    if unknown := [form for form in export or () if form not in FORMATS]:
        raise typer.BadParameter(f"{unknown[0]!r} is not a format; choose {', '.join(FORMATS)}", param_hint="--export")
    levels = levels_of(fail_under)
    given = {
        "mteb_dataset_name": with_split(env, dataset, split),
        "retrieval_strategy": strategy,
        "eval_max_queries": max_queries,
        "generation_enabled": generation,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    if pilot and not dry_run:
        raise typer.BadParameter("a pilot is part of an estimate; add --dry-run", param_hint="--pilot")
    app = open_app(env, verbose, **overrides)
    asked: dict[str, Any] = {"preset": preset or "", **overrides}
    if not app.settings.generation_enabled and (
        empty := [form for form in export or () if FORMATS[form].needs_answers]
    ):
        raise typer.BadParameter(f"{empty[0]!r} writes answers; add --generation", param_hint="--export")
    if dry_run:
        plan = app.runs.plan_run(**asked)
        if pilot:
            with ProgressLine() as progress:
                plan = replace(plan, estimate=app.runs.pilot(pilot, progress, budget_usd=budget, **asked))
        hints = [str(miss) for miss in misnamed_settings(env)]
        print_plan(plan, hints, as_json, app.live.provider_reason, preset or "")
        return
    with ProgressLine() as progress:
        result = app.runs.run_now(progress, budget_usd=budget, **asked)
    for form in export or ():
        folder = app.settings.results_dir / result.run_id
        for path in write_files(app.archive.export(result.run_id, form), folder):
            logs.say(f"written: {path}", logging.INFO)
    _print_new(result, as_json)
    if levels:
        raise typer.Exit(report_levels(result, levels))


@benchmark.command("resume")
def benchmark_resume(
    run_id: str,
    budget: BudgetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    app = open_app(env, verbose)
    with ProgressLine() as progress:
        result = app.runs.resume_now(run_id, progress, budget_usd=budget)
    _print_new(result, as_json)


@benchmark.command("retry")
def benchmark_retry(
    run_id: str,
    budget: BudgetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    app = open_app(env, verbose)
    with ProgressLine() as progress:
        result = app.runs.resume_now(run_id, progress, budget_usd=budget, retry_failed=True)
    _print_new(result, as_json)


@benchmark.command("show")
def benchmark_show(run_id: str, env: EnvOption = None, as_json: JsonOption = False) -> None:
    _print(open_app(env).archive.run(run_id), as_json)


@benchmark.command("list")
def benchmark_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    app = open_app(env)
    runs, damaged = app.archive.runs()
    unfinished = app.archive.unfinished()
    if as_json:
        print_json(
            {
                "runs": [asdict(run) for run in runs],
                "unfinished": [
                    {"run_id": run.run_id, "recorded": run.recorded, "queries": run.queries} for run in unfinished
                ],
                "damaged_lines": len(damaged),
            }
        )
        return
    for run in runs:
        name = main_metric(run)
        value = run.metrics.get(name)
        shown = "-" if value is None else f"{value:.4f}"
        say(f"{run.run_id}  {run.system}  queries={run.queries}  {name}={shown}")
    for begun in unfinished:
        say(f"{begun.run_id}  unfinished: {begun.recorded}/{begun.queries}")
    if damaged:
        faults = "".join(f"\n  line {fault}" for fault in damaged[:_FAULTS_SHOWN])
        path = app.settings.submissions_path
        logs.say(f"{len(damaged)} damaged lines in {path} were skipped:{faults}", logging.WARNING)


@benchmark.command("compare")
def benchmark_compare(
    run_ids: Annotated[list[str], typer.Argument(metavar="A B [C…]", help="Finished runs; the first is the base")],
    metric: Annotated[list[str] | None, typer.Option(help="Compare only this metric; may be repeated")] = None,
    max_drop: MaxDropOption = None,
    fail_under: FailUnderOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    levels = levels_of(fail_under)
    app = open_app(env)
    comparison = app.archive.compare(run_ids, metric or ())
    drops = [] if max_drop is None else tested_drops(app.archive, run_ids, metric or (), max_drop)
    if as_json:
        print_json(comparison.to_json() | ({"drops": drops_json(drops)} if drops else {}))
    else:
        say(comparison_text(comparison))
    codes = [report_drops(drops), *(report_levels(app.archive.run(run_id), levels) for run_id in run_ids[1:])]
    if code := next((code for code in (3, 4) if code in codes), 0):
        raise typer.Exit(code)


@benchmark.command("history")
def benchmark_history(
    dataset: Annotated[
        str,
        typer.Argument(help="Data set as `benchmark list --json` names it; by default that of the newest run"),
    ] = "",
    metric: Annotated[str, typer.Option(help="Metric to show; by default the main one of the newest run")] = "",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    history = chosen_history(open_app(env).archive, dataset, metric)
    if as_json:
        print_json(history.to_json())
    else:
        say(history_text(history))


@benchmark.command("export")
def benchmark_export(
    run_id: str,
    form: Annotated[str, typer.Option("--format", help="; ".join(f"{n}: {f.summary}" for n, f in FORMATS.items()))],
    output: Annotated[Path, typer.Option(help="Folder to write into")] = Path(),
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    exported = open_app(env).archive.export(run_id, form)
    paths = write_files(exported, output)
    if as_json:
        print_json({"files": [str(path) for path in paths], **exported.notes})
        return
    for path in paths:
        say(str(path))
    if left_out := exported.notes.get("left_out"):
        logs.say(f"{left_out} queries without an answer were left out", logging.WARNING)
    if reordered := exported.notes.get("reordered"):
        text = f"evaluators sort by score: they rank {reordered} queries in another order than the run"
        logs.say(text, logging.WARNING)


@benchmark.command("import")
def benchmark_import(
    path: Annotated[Path, typer.Argument(help="A zip from `export --format zip`, a TREC run file, or ranx' JSON")],
    dataset: Annotated[str, typer.Option(help="For a ranking: the data set whose qrels score it")] = "",
    split: SplitOption = None,
    name: Annotated[str, typer.Option(help="For a ranking: its name in lists; default: the file's tag or name")] = "",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    reference = with_split(env, dataset, split) or ""
    app = open_app(env)
    with ProgressLine() as progress:
        imported = app.archive.import_run(path, reference, name, progress)
    if as_json:
        print_json(asdict(imported))
        return
    say(f"{imported.run_id}  ({imported.queries} queries)")
    if imported.without_ranking:
        text = f"{imported.without_ranking} queries have no line in the file: they count as having retrieved nothing"
        logs.say(text, logging.WARNING)
    if imported.left_out:
        text = f"{imported.left_out} queries of the file are not among those of the run (EVAL_MAX_QUERIES, DEV_MODE)"
        logs.say(text, logging.WARNING)
