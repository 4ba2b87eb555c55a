"""``chatbot-mvp ragas``: scores existing answers with the metrics of Ragas, and measures the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, VerboseOption, open_app, print_json
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.runs.result import RunResult, figures_json
from chatbot_mvp.runs.rows import Estimate
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.ragas.config import config_from, load_config
from chatbot_mvp.wings.ragas.service import RagasService

ragas = typer.Typer()
prompts = typer.Typer()

_CONTRACT = ("run_id", "dataset", "strategy", "fingerprint", "queries", "metrics", "scored", "seconds", "peak_rss_mb")
_MORE = ("judge", "language", "repeats", "readings", "failures", "not_scored", "spread", "agreement", "usage")

MetricOption = Annotated[list[str] | None, typer.Option("--metric", help="Score only this metric; may be repeated")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="A config.yaml; every key has a default")]
RepeatsOption = Annotated[int | None, typer.Option(min=1, max=20, help="Times to score each row")]


@ragas.command("run")
def ragas_run(
    dataset: Annotated[
        Path | None,
        typer.Argument(metavar="DATASET", help="JSONL, CSV or Parquet with Ragas' columns; by default, config's"),
    ] = None,
    config: ConfigOption = None,
    metric: MetricOption = None,
    repeats: RepeatsOption = None,
    language: Annotated[
        str | None, typer.Option(help="Language of the prompts, as fr or french; detected by default")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File, or folder, for the rows with one column per metric")
    ] = None,
    budget: Annotated[float | None, typer.Option(min=0, metavar="USD", help="Stop before it costs more")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    loaded = load_config(config)
    dataset = dataset or loaded.dataset
    if dataset is None:
        raise typer.BadParameter("name a file, here or as 'dataset' of the configuration", param_hint="DATASET")
    if not dataset.is_file():
        raise typer.BadParameter(f"there is no file {str(dataset)!r}", param_hint="DATASET")
    given = output.absolute() if output is not None else None
    changes: dict[str, Any] = {"metrics": metric or None, "repeats": repeats, "language": language, "output": given}
    values = loaded.model_dump() | {name: value for name, value in changes.items() if value is not None}
    app = open_app(env, verbose)
    service = app.get(RagasService)
    rows = service.rows_of_file(dataset)
    with ProgressLine() as progress:
        result = service.run_now(dataset.stem, rows, config_from(values, "the command"), progress, budget_usd=budget)
    print_evaluation(result, as_json)
    if unreviewed := service.prompts.unreviewed(result.run_id):
        say(f"The judge made these prompts, and nobody has reviewed them: {', '.join(unreviewed)}", error=True)


@prompts.command("save")
def save_prompts(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files are written; none is overwritten")],
    language: Annotated[str, typer.Option(help="Language of the prompts, as es or spanish")] = "en",
    config: ConfigOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    _print_files(open_app(env).get(RagasService).prompts.save(folder, language, load_config(config)), as_json)


@prompts.command("adapt")
def adapt_prompts(
    language: Annotated[str, typer.Argument(metavar="LANGUAGE", help="Any that the judge knows, as fr or french")],
    folder: Annotated[Path | None, typer.Option(help="Folder of the prompts; by default, config's")] = None,
    instructions: Annotated[bool, typer.Option("--instructions", help="Translate the instructions, too")] = False,
    config: ConfigOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    loaded = load_config(config)
    if folder is not None:
        loaded = loaded.model_copy(update={"prompts": folder.absolute()})
    made = open_app(env).get(RagasService).prompts.adapt(language, loaded, instructions=instructions)
    _print_files(made, as_json)
    if made and not as_json:
        say('Made by a model: review the files, then set "reviewed" to true in each.', error=True)


def _print_files(paths: list[Path], as_json: bool) -> None:
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        say(str(path))
    if not paths:
        say("Nothing to do: the folder has all prompts of this language.")


@ragas.command("agreement")
def ragas_agreement(
    labels: Annotated[Path | None, typer.Argument(help="JSONL with labels; by default, the bundled one")] = None,
    config: ConfigOption = None,
    repeats: RepeatsOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    service = app.get(RagasService)
    loaded = load_config(config)
    metric = "ragas_faithfulness" if service.judge(loaded) else "lexical_faithfulness"
    values = loaded.model_dump() | {"metrics": [metric]} | ({"repeats": repeats} if repeats else {})
    path = labels or service.sample_path()
    with ProgressLine() as progress:
        result = service.run_now(path.stem, service.rows_of_file(path), config_from(values, "the command"), progress)
    print_evaluation(result, as_json)


def print_evaluation(result: RunResult, as_json: bool) -> None:
    """Print a finished evaluation, as text or as one JSON object."""
    if as_json:
        values = figures_json(result)
        print_json({name: values[name] for name in (*_CONTRACT, *_MORE)})
        return
    say(f"{result.run_id}  ({result.dataset}, {result.queries} rows, judge: {result.judge or 'none'})")
    for name, value in result.metrics.items():
        scored, total = result.scored.get(name, (0, 0))
        interval = result.intervals.get(name)
        spread = f"  [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else ""
        say(f"  {name:<46} {'not scored' if value is None else f'{value:.4f}'}{spread}  ({scored}/{total})")
        for reason, count in result.not_scored.get(name, {}).items():
            say(f"    not scored: {count} × {reason}")
        if spread_of := result.spread.get(name):
            say(f"    spread over {result.repeats} repeats: {spread_of.deviation:.4f}")
    for name, agreement in result.agreement.items():
        say(f"  {name} against people ({agreement.scored}/{agreement.rows} rows):")
        say(f"    accuracy {_estimate(agreement.accuracy)}, Cohen's kappa {_estimate(agreement.kappa)}")
    usage = result.usage
    say(f"  {usage.calls} requests, {usage.cached} from the cache, {usage.cost_usd:.4f} USD")
    if result.failures:
        say(f"  to retry the failed rows: chatbot-mvp benchmark retry {result.run_id}")


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return "not known"
    spread = "" if found.low is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:.2f}{spread}"
