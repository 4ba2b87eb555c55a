"""The App behind a command line. With ``--json``, stdout is exactly one JSON object; everything else goes to stderr."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.app import App, ProviderStatus, build_app
from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.exports.comparison_text import comparison_text
from chatbot_mvp.exports.exported import write_files
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.settings import load_settings
from chatbot_mvp.types import Progress

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
benchmark = typer.Typer(no_args_is_help=True, help="Measure a retrieval strategy on a data set.")
kb = typer.Typer(no_args_is_help=True, help="Ask a document.")
cli.add_typer(benchmark, name="benchmark")
cli.add_typer(kb, name="kb")

EnvOption = Annotated[Path | None, typer.Option("--env", help="Read this file instead of ./.env")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="More log lines on stderr")]

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


def _app(env: Path | None, verbose: bool = False, **overrides: Any) -> App:
    settings = load_settings(env, **overrides)
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if verbose else logging.WARNING)
    return build_app(settings)


class _ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = 0.0
        self._phase = ""
        self._stop = False
        # The first Ctrl-C ends the run at a clean place; a second one is the usual interrupt.
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(signal.SIGTERM, self._on_interrupt)

    def _on_interrupt(self, *_: object) -> None:
        self._stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, progress: Progress) -> None:
        if self._stop:
            raise RunStopped(run_id="?")
        now = time.monotonic()
        every = 0.1 if self._terminal else 5.0
        if progress.phase == self._phase and now - self._shown < every and progress.done != progress.total:
            return
        self._shown, self._phase = now, progress.phase
        text = f"{progress.phase}: {progress.done}/{progress.total}"
        if progress.rate:
            text += f"  {progress.rate:.1f}/s"
        if progress.seconds_left:
            text += f"  {progress.seconds_left:.0f} s left"
        print(f"\r\x1b[K{text}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr)


@benchmark.command("run")
def benchmark_run(
    dataset: Annotated[str | None, typer.Option(help="A bundled name or a folder")] = None,
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    max_queries: Annotated[int | None, typer.Option(min=0, help="0 = all")] = None,
    generation: Annotated[
        bool, typer.Option("--generation/--no-generation", help="This version measures retrieval only")
    ] = False,
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
    _print_result(_app(env, verbose, **overrides).run_now(_ProgressLine()), as_json)


@benchmark.command("resume")
def benchmark_resume(
    run_id: str, env: EnvOption = None, as_json: JsonOption = False, verbose: VerboseOption = False
) -> None:
    """Do what is missing of a stopped or killed run."""
    _print_result(_app(env, verbose).resume_now(run_id, _ProgressLine()), as_json)


@benchmark.command("show")
def benchmark_show(run_id: str, env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Show a finished run."""
    _print_result(_app(env).run(run_id), as_json)


@benchmark.command("list")
def benchmark_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Finished runs, and those that can be resumed."""
    app = _app(env)
    runs, damaged = app.runs()
    unfinished = app.unfinished_runs()
    if as_json:
        _print_json(
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
    comparison = _app(env).compare(run_ids, metric or ())
    if as_json:
        _print_json(comparison.to_json())
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
    exported = _app(env).export_run(run_id, form)
    paths = write_files(exported, output)
    if as_json:
        _print_json({"files": [str(path) for path in paths], **exported.notes})
        return
    for path in paths:
        print(path)
    if left_out := exported.notes.get("left_out"):
        print(f"{left_out} queries without an answer were left out", file=sys.stderr)


@kb.command("ask")
def kb_ask(
    document: Annotated[Path, typer.Argument(help="A .txt or .md file")],
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
    app = _app(env)
    record = app.add_kb(document.name, document.read_bytes())
    app.kb_pipeline(record.kb_id, _ProgressLine())
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
        _print_json(
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
    document: Annotated[Path, typer.Argument(help="A .txt or .md file")],
    questions: Annotated[Path, typer.Argument(help="JSONL: id, question, kind, answers, heading, paragraph")],
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the chat over a document: what is found, what is accepted, how fast."""
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    overrides: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = _app(env, **overrides)
    record = app.add_kb(document.name, document.read_bytes())
    result = app.evaluate_kb(record.kb_id, questions, _ProgressLine())
    if as_json:
        _print_json(result)
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

    serve(_app(env), host, port)


@cli.command()
def doctor(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """What is configured, and what answers."""
    app = _app(env)
    checks = app.check()
    providers = app.providers.check_configured()
    if as_json:
        told = {check.name: {"ok": check.ok, "detail": check.detail} for check in checks}
        _print_json({**told, "providers": {status.name: _provider_json(status) for status in providers}})
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


def _print_result(result: dict[str, Any], as_json: bool) -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if as_json:
        _print_json({name: result[name] for name in _CONTRACT})
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


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False))


def main() -> None:
    """Entry point: errors become one line on stderr and an exit code."""
    try:
        cli()
    except ChatbotError as error:
        if sys.stderr.isatty():
            print(file=sys.stderr)
        print(f"chatbot-mvp: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
