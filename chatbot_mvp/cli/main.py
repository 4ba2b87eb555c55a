"""Command line of the App. With ``--json``, stdout is exactly one JSON object; everything else goes to stderr."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.api import ProviderStatus
from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.cli.common import EnvOption, JsonOption, open_app, print_json
from chatbot_mvp.cli.datasets import datasets
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.cli.ragas import ragas
from chatbot_mvp.cli.runs import benchmark
from chatbot_mvp.errors import ChatbotError, ExportNotWritten, RunStopped
from chatbot_mvp.health import Check
from chatbot_mvp.settings.model import log_format, misnamed_settings
from chatbot_mvp.settings.password import LEAST_CHARS, hash_password

_UsageError: Any = typer.BadParameter.mro()[1]
"""Click's UsageError. Newer versions of Typer bundle their own Click, so it is not imported by name."""

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
kb = typer.Typer(no_args_is_help=True, help="Ask a document and measure the answers.")
cli.add_typer(benchmark, name="benchmark")
cli.add_typer(kb, name="kb")
cli.add_typer(datasets, name="datasets")
cli.add_typer(ragas, name="ragas")


@cli.command("hash-password")
def hash_password_command() -> None:
    """Ask for a password and print the ADMIN_PASSWORD line with its hash, to paste into .env."""
    password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < LEAST_CHARS:
        raise typer.BadParameter(f"{LEAST_CHARS} characters or more are needed", param_hint="password")
    print(f"ADMIN_PASSWORD={hash_password(password)}")


@kb.command("ask")
def kb_ask(
    document: Annotated[Path, typer.Argument(help="A .txt, .md, .pdf, .docx or .html file")],
    question: str,
    mode: Annotated[str, typer.Option(help="strict or general")] = "strict",
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from a document. The document is saved as a knowledge base."""
    if mode not in ("strict", "general"):
        raise typer.BadParameter(f"{mode!r} is not a mode; choose strict or general", param_hint="--mode")
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    app = open_app(env)
    record = app.kbs.add(document.name, document.read_bytes())
    with ProgressLine() as progress:
        app.kbs.pipeline(record.kb_id, progress)
    chosen: Mode = "strict" if mode == "strict" else "general"
    answer = app.answering.ask(record.kb_id, question, UserContext(chosen, record.language))
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
    questions: Annotated[Path, typer.Argument(help="JSONL with id, question, kind, answers, heading, paragraph")],
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the chat on a document: which passages it finds, which questions it accepts, and how fast."""
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    overrides: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = open_app(env, **overrides)
    record = app.kbs.add(document.name, document.read_bytes())
    with ProgressLine() as progress:
        result = app.kb_evaluation.evaluate_file(record.kb_id, questions, progress)
    if as_json:
        print_json(result)
        return
    for name, value in result.items():
        print(f"{name}: {'not scored' if value is None else value}")


@kb.command("questions")
def kb_questions(
    document: Annotated[str, typer.Argument(help="Id of a stored knowledge base, or a file to create one from")],
    out: Annotated[Path, typer.Option(help="JSONL file to write, for `kb evaluate`; an existing file is replaced")],
    count: Annotated[
        int, typer.Option(min=4, max=1_000, help="Number of questions: half answerable, a quarter near, a quarter far")
    ] = 40,
    use_model: Annotated[
        bool, typer.Option("--model/--no-model", help="Let the provider's model write them, if it has one")
    ] = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose questions to evaluate a document. A person should review them before use."""
    app = open_app(env)
    path = Path(document)
    kb_id = app.kbs.add(path.name, path.read_bytes()).kb_id if path.is_file() else document
    with ProgressLine() as progress:
        made = app.kb_evaluation.propose_now(kb_id, count, use_model, progress)
    try:
        out.write_text(app.kb_evaluation.export(made), "utf-8")
    except OSError as error:
        raise ExportNotWritten(path=str(out), reason=error.strerror or str(error)) from error
    counts = {kind: number for kind, number in made.counts().items() if number}
    by = app.kb_evaluation.proposer() if use_model else ""
    if as_json:
        print_json({"out": str(out), "questions": counts, "dropped": dict(made.dropped), "by": by or "rules"})
        return
    print(f"{out}: {', '.join(f'{number} {kind}' for kind, number in counts.items())} (by {by or 'rules'})")
    if made.dropped:
        print(f"left out: {', '.join(f'{number} {reason}' for reason, number in made.dropped.items())}")


@cli.command("serve")
def serve_chat(
    host: Annotated[str, typer.Option(help="Address to listen on; by default, only this machine")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535)] = 8600,
    env: EnvOption = None,
) -> None:
    """Serve the chat to other programs as an OpenAI-compatible endpoint, protected by SERVE_TOKEN."""
    from chatbot_mvp.server.openai import serve

    serve(open_app(env), host, port)


@cli.command()
def doctor(env: EnvOption = None, as_json: JsonOption = False) -> None:
    """Check the configuration, and which configured parts respond."""
    app = open_app(env)
    hints = [str(miss) for miss in misnamed_settings(env)]
    checks = [Check("settings", not hints, " ".join(hints) or "no name looks misspelt"), *app.parts.check()]
    providers = app.providers.check_configured()
    if as_json:
        told = {check.name: {"ok": check.ok, "detail": check.detail} for check in checks}
        rows = {status.name: _provider_json(status, app.live.provider_reason) for status in providers}
        print_json({**told, "providers": rows})
        return
    for check in checks:
        print(f"{'ok ' if check.ok else 'NO '} {check.name}: {check.detail}")
    print(f"provider chosen: {app.settings.provider}, because {app.live.provider_reason}")
    print("providers:")
    for status in providers:
        print(_provider_line(status))


def _provider_json(status: ProviderStatus, reason: str) -> dict[str, Any]:
    """``reason`` says why the chosen one is chosen."""
    check = status.check
    return {
        "configured": status.configured,
        "missing": status.missing,
        "chosen": status.chosen,
        "chosen_because": reason if status.chosen else None,
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


def main() -> None:
    """Entry point: errors become one line on stderr and an exit code."""
    jsonl = log_format() == "jsonl"
    if jsonl:
        logs.configure("jsonl")
    try:
        # By default Typer prints usage errors in a text box, which is not JSON.
        code = cli(standalone_mode=False) if jsonl else cli()
    except ChatbotError as error:
        # Stopped before the run was created, so there is no id to resume.
        early = isinstance(error, RunStopped) and error.params["run_id"] == "?"
        said = "stopped; what was done is kept, and the same command continues from there" if early else str(error)
        _tell(said, error.code, error.exit_code)
        raise SystemExit(error.exit_code) from error
    except _UsageError as error:
        _tell(error.format_message() or "no command was given; --help lists the commands", "usage", error.exit_code)
        raise SystemExit(error.exit_code) from error
    except (typer.Abort, KeyboardInterrupt) as error:
        _tell("interrupted", "interrupted", RunStopped.exit_code)
        raise SystemExit(RunStopped.exit_code) from error
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    raise SystemExit(code or 0)


def _tell(text: str, code: str, exit_code: int) -> None:
    prefix = "" if logs.is_jsonl() else "chatbot-mvp: "
    logs.say(f"{prefix}{text}", logging.ERROR, code=code, exit_code=exit_code)
