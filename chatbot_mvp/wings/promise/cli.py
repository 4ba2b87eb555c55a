"""The command ``kb promise``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from chatbot_mvp.cli.common import EnvOption, JsonOption, kb_of, open_app, print_json
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.evaluation.kb.sets import SET_ID
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.promise.calibration import UNITS
from chatbot_mvp.wings.promise.promise import promise_text
from chatbot_mvp.wings.promise.service import Promises

promise = typer.Typer()

_NO_PROMISE = 4
"""Exit code where the labels cannot show what was asked for, as of a gate that cannot tell."""


@promise.command("promise")
def kb_promise(
    document: Annotated[str, typer.Argument(help="Name or id of a knowledge base, or a file to create one from")],
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
    level = _share(at_most)
    if by not in (None, *UNITS):
        raise typer.BadParameter(f"{by!r} is not one of {', '.join(UNITS)}", param_hint="--by")
    unit = next((name for name in UNITS if name == by), None)
    app = open_app(env)
    asked = Path(questions)
    kb_id = kb_of(app, document)
    with ProgressLine() as progress:
        if SET_ID.fullmatch(questions) and not asked.is_file():
            run = app.kb_evaluation.evaluate(kb_id, questions, progress)
        else:
            run = app.kb_evaluation.evaluate(kb_id, asked, progress)
        state = app.get(Promises).make(kb_id, run["run_id"], level, unit)
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
