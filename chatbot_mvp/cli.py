"""The App behind a command line. With ``--json``, stdout is exactly one JSON object; everything else goes to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.app import Check, ProviderStatus, RunPlan
from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.cli_common import EnvOption, JsonOption, ProgressLine, VerboseOption, open_app, print_json
from chatbot_mvp.cli_datasets import datasets
from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.exports.comparison_text import comparison_text
from chatbot_mvp.exports.exported import write_files
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.settings import misnamed_settings

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
benchmark = typer.Typer(no_args_is_help=True, help="Measure a retrieval strategy on a data set.")
kb = typer.Typer(no_args_is_help=True, help="Ask a document.")
cli.add_typer(benchmark, name="benchmark")
cli.add_typer(kb, name="kb")
cli.add_typer(datasets, name="datasets")

BudgetOption = Annotated[
    float | None,
    typer.Option(min=0, metavar="USD", help="Stop cleanly before the run, with earlier attempts, costs more"),
]

_CONTRACT = (
    "run_id",
    "dataset",
    "strategy",
    "fingerprint",
    "queries",
    "metrics",
    "scored",
    "seconds",
    "peak_rss_mb",
)
_MORE = ("usage", "failures", "abstentions", "generator", "judge")
"""Given too of a run with answers."""


@benchmark.command("run")
def benchmark_run(
    dataset: Annotated[str | None, typer.Option(help="A name, a folder, or s3://bucket/…/name")] = None,
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    max_queries: Annotated[int | None, typer.Option(min=0, help="0 = all")] = None,
    generation: Annotated[
        bool | None, typer.Option("--generation/--no-generation", help="Answers by PROVIDER's model, scored")
    ] = None,
    budget: BudgetOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan, run nothing")] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a benchmark in the foreground. Ctrl-C stops it cleanly; ``resume`` goes on."""
    given = {
        "mteb_dataset_name": dataset,
        "retrieval_strategy": strategy,
        "eval_max_queries": max_queries,
        "generation_enabled": generation,
    }
    overrides = {name: value for name, value in given.items() if value is not None}
    app = open_app(env, verbose, **overrides)
    if dry_run:
        _print_plan(app.bench.plan_run(), [str(miss) for miss in misnamed_settings(env)], as_json)
        return
    _print_result(app.bench.run_now(ProgressLine(), budget_usd=budget), as_json)


@benchmark.command("resume")
def benchmark_resume(
    run_id: str,
    budget: BudgetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Do what is missing of a stopped or killed run."""
    app = open_app(env, verbose)
    _print_result(app.bench.resume_now(run_id, ProgressLine(), budget_usd=budget), as_json)


@benchmark.command("retry")
def benchmark_retry(
    run_id: str,
    budget: BudgetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Do the failed queries of a run once more, and what is missing."""
    app = open_app(env, verbose)
    _print_result(app.bench.retry_now(run_id, ProgressLine(), budget_usd=budget), as_json)


@benchmark.command("show")
def benchmark_show(run_id: str, env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Show a finished run."""
    _print_result(open_app(env).bench.run(run_id), as_json)


@benchmark.command("list")
def benchmark_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Finished runs, and those that can be resumed."""
    app = open_app(env)
    runs, damaged = app.bench.runs()
    unfinished = app.bench.unfinished_runs()
    if as_json:
        print_json(
            {
                "runs": runs,
                "unfinished": [
                    {"run_id": run.run_id, "recorded": run.recorded, "queries": run.queries} for run in unfinished
                ],
                "damaged_lines": damaged,
            }
        )
        return
    for row in runs:
        recall = row["metrics"].get("recall@5")
        shown = "-" if recall is None else f"{recall:.4f}"
        print(f"{row['run_id']}  queries={row.get('queries')}  recall@5={shown}")
    for run in unfinished:
        print(f"{run.run_id}  unfinished: {run.recorded}/{run.queries}")
    if damaged:
        print(f"{damaged} damaged lines in {app.settings.submissions_path} were skipped", file=sys.stderr)


@benchmark.command("compare")
def benchmark_compare(
    run_ids: Annotated[list[str], typer.Argument(metavar="A B [C…]", help="Finished runs; the first is the base")],
    metric: Annotated[list[str] | None, typer.Option(help="Compare by this metric; may be repeated")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs over the same questions: deltas with intervals, p, and which questions changed."""
    comparison = open_app(env).bench.compare(run_ids, metric or ())
    if as_json:
        print_json(comparison.to_json())
    else:
        print(comparison_text(comparison))


@benchmark.command("export")
def benchmark_export(
    run_id: str,
    form: Annotated[str, typer.Option("--format", help="; ".join(f"{n}: {f.summary}" for n, f in FORMATS.items()))],
    output: Annotated[Path, typer.Option(help="Folder to write into")] = Path(),
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a finished run in another form."""
    exported = open_app(env).bench.export_run(run_id, form)
    paths = write_files(exported, output)
    if as_json:
        print_json({"files": [str(path) for path in paths], **exported.notes})
        return
    for path in paths:
        print(path)
    if left_out := exported.notes.get("left_out"):
        print(f"{left_out} queries without an answer were left out", file=sys.stderr)


@kb.command("ask")
def kb_ask(
    document: Annotated[Path, typer.Argument(help="A .txt, .md, .pdf, .docx or .html file")],
    question: str,
    mode: Annotated[str, typer.Option(help="strict or general")] = "strict",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from a document; it is kept as a knowledge base."""
    if mode not in ("strict", "general"):
        raise typer.BadParameter(f"{mode!r} is not a mode; choose strict or general", param_hint="--mode")
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    app = open_app(env)
    record = app.add_kb(document.name, document.read_bytes())
    app.kb_pipeline(record.kb_id, ProgressLine())
    chosen: Mode = "strict" if mode == "strict" else "general"
    answer = app.ask(record.kb_id, question, UserContext(chosen, record.language))
    sources = [
        {
            "n": s.number,
            "section": s.chunk.section,
            "start": s.chunk.start,
            "end": s.chunk.end,
            "highlights": s.highlights,
        }
        for s in answer.sources
    ]
    if as_json:
        print_json(
            {
                "answer": answer.text,
                "abstained": answer.abstained,
                "evidence": answer.trace.evidence,
                "sources": sources,
                "model": answer.completion.model if answer.completion else None,
                "kb_truncated": record.kb_truncated,
                "seconds": round(answer.seconds, 4),
            }
        )
        return
    print(answer.text)
    for source in sources:
        print(f"[{source['n']}] {source['section']} ({source['start']}-{source['end']})")


@kb.command("evaluate")
def kb_evaluate(
    document: Annotated[Path, typer.Argument(help="A .txt, .md, .pdf, .docx or .html file")],
    questions: Annotated[Path, typer.Argument(help="JSONL: id, question, kind, answers, heading, paragraph")],
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the chat over a document: what is found, what is accepted, how fast."""
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    overrides: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = open_app(env, **overrides)
    record = app.add_kb(document.name, document.read_bytes())
    result = app.evaluate_kb(record.kb_id, questions, ProgressLine())
    if as_json:
        print_json(result)
        return
    for name, value in result.items():
        print(f"{name}: {'not scored' if value is None else value}")


@cli.command("serve")
def serve_chat(
    host: Annotated[str, typer.Option(help="Address to listen on; only this machine by default")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8600,
    env: EnvOption = None,
) -> None:
    """Offer the chat to other programs as an OpenAI-compatible endpoint (SERVE_TOKEN)."""
    from chatbot_mvp.serve import serve

    serve(open_app(env), host, port)


@cli.command()
def doctor(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """What is configured, and what answers."""
    app = open_app(env)
    hints = [str(miss) for miss in misnamed_settings(env)]
    checks = [Check("settings", not hints, " ".join(hints) or "no name looks misspelt"), *app.check()]
    providers = app.providers.check_configured()
    if as_json:
        told = {check.name: {"ok": check.ok, "detail": check.detail} for check in checks}
        print_json({**told, "providers": {status.name: _provider_json(status) for status in providers}})
        return
    for check in checks:
        print(f"{'ok ' if check.ok else 'NO '} {check.name}: {check.detail}")
    print("providers:")
    for status in providers:
        print(_provider_line(status))


def _provider_json(status: ProviderStatus) -> dict[str, Any]:
    check = status.check
    return {
        "configured": status.configured,
        "missing": status.missing,
        "chosen": status.chosen,
        "model": status.model,
        "reachable": check.reachable if check else None,
        "seconds": round(check.seconds, 4) if check and check.seconds is not None else None,
        "error": str(check.error) if check and check.error else None,
    }


def _provider_line(status: ProviderStatus) -> str:
    check = status.check
    mark = "*" if status.chosen else " "
    if not status.configured or check is None:
        return f" {mark} {status.name:<8} not configured; missing: {status.missing}"
    milliseconds = "" if check.seconds is None else f" ({1_000 * check.seconds:.0f} ms)"
    state = f"answers{milliseconds}" if check.reachable else f"NO answer: {check.error}"
    note = "; a small model: not to be relied on" if status.note else ""
    return f" {mark} {status.name:<8} {status.model or 'no model'}  {state}{note}"


def _print_plan(plan: RunPlan, hints: list[str], as_json: bool) -> None:
    if as_json:
        print_json({**plan.as_json(), "hints": hints})
        return
    unknown = "not known before the download"
    if plan.checked:
        state = f"checked, sha256 {(plan.dataset_sha256 or '')[:12]}"
    else:
        state = f"{plan.download_bytes / 1e6:.1f} MB to download, checked then"
    lines = {
        "data set": f"{plan.dataset} ({plan.place}: {plan.dataset_ref}); {state}",
        "queries": f"{_count(plan.queries, unknown)} of {_count(plan.dataset_queries, unknown)}",
        "documents": f"{_count(plan.documents, unknown)} of {_count(plan.dataset_documents, unknown)}",
        "qrels": _count(plan.qrels, unknown),
        "sample": ", ".join(f"{name}={value}" for name, value in plan.sampling.items()) or "the whole data set",
        "strategy": f"{plan.strategy} (fingerprint {plan.fingerprint})",
        "provider": plan.provider,
        "embeddings": plan.embedding_model or "none",
        "reranker": plan.reranker or "none",
        "phases": " → ".join(plan.phases),
        "cached": _cached(plan),
        "results": f"{plan.results_dir}{os.sep}<run_id>",
    }
    for name, value in lines.items():
        print(f"{name:<11} {value}")
    for text in [*plan.warnings, *hints]:
        print(f"{'warning':<11} {text}")
    print("Nothing was run.")


def _count(value: int | None, unknown: str) -> str:
    return unknown if value is None else f"{value:,}"


def _cached(plan: RunPlan) -> str:
    parts = ["data set" if plan.checked else "no data set"]
    if plan.index_cached is not None:
        parts.append("index" if plan.index_cached else "no index")
    if plan.vectors is not None:
        parts.append(f"{plan.vectors.cached:,} of {plan.vectors.total:,} vectors")
    return ", ".join(parts)


def _print_result(result: dict[str, Any], as_json: bool) -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        names = [*_CONTRACT, *(_MORE if result.get("generator") else ())]
        print_json({name: result[name] for name in names})
        return
    print(f"{result['run_id']}  ({result['dataset']}, {result['strategy']}, {result['queries']} queries)")
    for name, value in result["metrics"].items():
        scored, total = result["scored"][name]
        # Runs that were recorded by an earlier version have no intervals.
        interval = result.get("intervals", {}).get(name)
        spread = f"  [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else ""
        print(f"  {name:<20} {'not scored' if value is None else f'{value:.4f}'}{spread}  ({scored}/{total})")
    for name in ("reranker_rescue_count", "rerank_failures"):
        if result.get(name):
            print(f"  {name:<20} {result[name]}")


def main() -> None:
    """Entry point: errors become one line on stderr and an exit code."""
    try:
        cli()
    except ChatbotError as error:
        if sys.stderr.isatty():
            print(file=sys.stderr)
        # Stopped before there was a run: there is none to resume.
        early = isinstance(error, RunStopped) and error.params["run_id"] == "?"
        said = "stopped; what was downloaded is kept, and the same command goes on with it" if early else str(error)
        print(f"chatbot-mvp: {said}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
