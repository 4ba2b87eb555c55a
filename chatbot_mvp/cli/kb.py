"""The commands ``kb ask``, ``kb evaluate``, ``kb promise`` and ``kb questions``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.chat.transcripts import answer_text
from chatbot_mvp.cli.common import EnvOption, JsonOption, PresetOption, kb_of, open_app, print_json
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.errors import ExportNotWritten
from chatbot_mvp.evaluation.kb.calibration import UNITS
from chatbot_mvp.evaluation.kb.promise import promise_text
from chatbot_mvp.evaluation.kb.sets import SET_ID
from chatbot_mvp.retrieval.systems import get_system
from chatbot_mvp.terminal import say

kb = typer.Typer()


_NO_PROMISE = 4
"""Exit code where the labels cannot show what was asked for, as in a gate that cannot tell."""


@kb.command("ask")
def kb_ask(
    document: Annotated[Path, typer.Argument(help="A .txt, .md, .pdf, .docx or .html file")],
    question: str,
    mode: Annotated[str, typer.Option(help="strict or general")] = "strict",
    preset: PresetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from a document. The document is saved as a knowledge base."""
    if mode not in ("strict", "general"):
        raise typer.BadParameter(f"{mode!r} is not a mode; choose strict or general", param_hint="--mode")
    if not document.is_file():
        raise typer.BadParameter(f"there is no file {str(document)!r}", param_hint="document")
    search = tuple(get_system(preset).changes.items()) if preset else ()
    app = open_app(env)
    record = app.kbs.add(document.name, document.read_bytes())
    with ProgressLine() as progress:
        pipeline = app.kbs.pipeline(record.kb_id, progress, search)
    language = pipeline.index.analyzer.language_of(question)
    chosen: Mode = "strict" if mode == "strict" else "general"
    answer = app.answering.ask(record.kb_id, question, UserContext(chosen, language, retrieval=search))
    answered = record_of(answer)
    if as_json:
        reply = answered.as_reply()
        print_json(
            {
                "answer": answer.text,
                **({"preset": preset} if preset else {}),
                **reply,
                "sources": [{"n": source["number"], **source} for source in reply["sources"]],
                "model": answer.completion.model if answer.completion else None,
                "kb_truncated": record.kb_truncated,
            }
        )
        return
    say(answer_text(answered, language))


@kb.command("evaluate")
def kb_evaluate(
    document: Annotated[str, typer.Argument(help="Id of a stored knowledge base, or a file to create one from")],
    questions: Annotated[Path, typer.Argument(help="JSONL with id, question, kind, answers, heading, paragraph")],
    preset: PresetOption = None,
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the chat on a document: which passages it finds, which questions it accepts, and how fast."""
    overrides: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = open_app(env, **overrides)
    kb_id = kb_of(app, document)
    with ProgressLine() as progress:
        result = app.kb_evaluation.evaluate_file(kb_id, questions, progress, preset=preset or "", **overrides)
    if as_json:
        print_json(result)
        return
    for name, value in result.items():
        say(f"{name}: {'not scored' if value is None else value}")


@kb.command("promise")
def kb_promise(
    document: Annotated[str, typer.Argument(help="Id of a stored knowledge base, or a file to create one from")],
    questions: Annotated[
        str, typer.Argument(help="JSONL of questions that people labelled, or the id of a question set")
    ],
    at_most: Annotated[str, typer.Option(help="Share of wrong answers to promise, as 5% or 0.05")] = "5%",
    by: Annotated[
        str | None,
        typer.Option(
            help="Independent draws: document (a file, or a top section of a single file) or question; by default "
            "document, if several questions are about one"
        ),
    ] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    """Promise a share of wrong answers from labelled questions, or say how many are missing; then exit code 4."""
    level = _share(at_most)
    if by not in (None, *UNITS):
        raise typer.BadParameter(f"{by!r} is not one of {', '.join(UNITS)}", param_hint="--by")
    unit = next((name for name in UNITS if name == by), None)
    app = open_app(env)
    asked = Path(questions)
    kb_id = kb_of(app, document)
    with ProgressLine() as progress:
        if SET_ID.fullmatch(questions) and not asked.is_file():
            run = app.kb_evaluation.evaluate_set(kb_id, questions, progress)
        else:
            run = app.kb_evaluation.evaluate_file(kb_id, asked, progress)
        state = app.promises.make(kb_id, run["run_id"], level, unit)
    if as_json:
        values = {name: value for name, value in asdict(state.promise).items() if name != "scores"}
        print_json({"promised": state.promise.made, "in_chat": state.in_chat, **values})
    else:
        say(promise_text(state.promise))
    if not state.promise.made:
        raise typer.Exit(_NO_PROMISE)


def _share(text: str) -> float:
    """Read a share between 0 and 1 exclusive, as "5%" or "0.05"."""
    number = text.strip()
    try:
        value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0.001 <= value <= 0.5:
        raise typer.BadParameter(
            f"{text!r} is not a share from 0.1% to 50%, such as 5% or 0.05", param_hint="--at-most"
        )
    return value


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
    kb_id = kb_of(app, document)
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
    say(f"{out}: {', '.join(f'{number} {kind}' for kind, number in counts.items())} (by {by or 'rules'})")
    if made.dropped:
        say(f"left out: {', '.join(f'{number} {reason}' for reason, number in made.dropped.items())}")
