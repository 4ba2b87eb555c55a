"""The command ``gate``: tests whether today's configuration is worse than a baseline, for pipelines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from chatbot_mvp.app import App
from chatbot_mvp.cli.common import EnvOption, JsonOption, VerboseOption, open_app, print_json
from chatbot_mvp.cli.limits import finite_option
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.evaluation.drops.scores import Measured
from chatbot_mvp.evaluation.drops.verdict import TOLERANCE
from chatbot_mvp.storage.files import naming
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.gate.baseline import Baseline, Source, read_baseline
from chatbot_mvp.wings.gate.reports import REPORTS, headline, power_table, power_text
from chatbot_mvp.wings.gate.service import Gate

gate = typer.Typer()


@gate.command("gate")
def gate_command(
    baseline: Annotated[Path | None, typer.Option(help="Test against this file, written by --save-baseline")] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Measure and write this file instead; an existing file is replaced")
    ] = None,
    kb: Annotated[
        str, typer.Option(help="Id of a stored knowledge base, or a document; by default as in the baseline")
    ] = "",
    questions: Annotated[
        str, typer.Option(help="JSONL file of questions for --kb; by default as in the baseline")
    ] = "",
    dataset: Annotated[str, typer.Option(help="Data set to run instead of --kb; by default as in the baseline")] = "",
    run: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="Use this finished run and run nothing; several are repeats of one"),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=20, help="Runs to make; each question has the mean of them")] = 1,
    metric: Annotated[
        list[str] | None, typer.Option(help="Metric to test; may be repeated. By default those of the baseline")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, callback=finite_option, help="Drop of a mean that is accepted")
    ] = TOLERANCE,
    common_only: Annotated[
        bool, typer.Option("--common-only", help="Pair the common questions and accept changed content")
    ] = False,
    commit: Annotated[str, typer.Option(help="With --save-baseline: commit to note in the file")] = "",
    report: Annotated[str, typer.Option(help=f"Form of the report: {', '.join(REPORTS)}")] = "text",
    output: Annotated[Path | None, typer.Option(help="Write the report to this file; stdout has the verdict")] = None,
    power: Annotated[
        bool, typer.Option("--power", help="Print which drops the baseline's questions can show, and run nothing")
    ] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    if (baseline is None) == (save_baseline is None):
        raise typer.BadParameter("give one of --baseline and --save-baseline", param_hint="--baseline")
    if report not in REPORTS:
        raise typer.BadParameter(f"{report!r} is not a form; choose {', '.join(REPORTS)}", param_hint="--report")
    app = open_app(env, verbose)
    before = read_baseline(baseline) if baseline else None
    if power and before:
        table = power_table(before, tolerance)
        if as_json:
            print_json(table)
        else:
            say(power_text(table))
        return
    given = Source(kb=kb, questions=questions, dataset=dataset)
    today, source = _measured(app, given, before, run or [], repeats)
    if save_baseline:
        saved = app.get(Gate).save(save_baseline, today, source, metric or (), commit)
        _print_saved(save_baseline, saved, as_json)
        return
    assert baseline is not None
    found = app.get(Gate).check(baseline, today, metric or (), tolerance, common_only)
    text = REPORTS["json" if as_json and output is None else report](found)
    if output is None:
        say(text)
    else:
        _write(output, text)
        if as_json:
            print_json(found.to_json())
        else:
            say(headline(found))
    raise typer.Exit(found.exit_code)


def _measured(
    app: App, given: Source, before: Baseline | None, run_ids: list[str], repeats: int
) -> tuple[Measured, Source]:
    """Return today's scores and what they were measured on: what is given, else what the baseline names."""
    if run_ids:
        return app.get(Gate).of_runs(run_ids), given
    source = given
    if before and not given.dataset:
        named = before.source
        # A data set of the baseline must not replace a knowledge base that is given.
        dataset = "" if given.kb or given.questions else named.dataset
        source = replace(named, kb=given.kb or named.kb, questions=given.questions or named.questions, dataset=dataset)
    with ProgressLine() as progress:
        return app.get(Gate).measure(source, repeats, progress), source


def _print_saved(path: Path, saved: Baseline, as_json: bool) -> None:
    today = saved.measured
    if as_json:
        print_json(
            {
                "baseline": str(path),
                "dataset": today.dataset,
                "fingerprint": today.fingerprint,
                "questions": len(today.questions),
                "failed": today.failed,
                "metrics": list(today.metrics),
                "gated": list(saved.gated),
                "runs": list(today.runs),
            }
        )
        return
    say(f"{path}: {len(today.questions)} questions, {', '.join(today.metrics)}")
    say(f"tested by default: {', '.join(saved.gated)}")


def _write(path: Path, text: str) -> None:
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", "utf-8", "replace")
