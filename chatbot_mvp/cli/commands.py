"""Table of all commands: the module that has each one, and its line in help pages."""

from __future__ import annotations

from typing import Annotated

import typer

from chatbot_mvp import __version__
from chatbot_mvp.cli.lazy import DefaultGroup, LazyGroup, lazy
from chatbot_mvp.terminal import say

PROGRAM = "chatbot-mvp"


def _print_version(asked: bool) -> None:
    if asked:
        say(f"{PROGRAM} {__version__}")
        raise typer.Exit


_program = typer.Typer()  # Typer adds --install-completion and --show-completion to the options of a program


@_program.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, expose_value=False, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Hold the options of the program itself."""


cli = LazyGroup(
    None,
    "Command line of the App. With ``--json``, stdout is exactly one JSON object; everything else goes to stderr.",
    *lazy(
        "chatbot_mvp.cli.operation:operation",
        {
            "hash-password": "Ask for a password and print the ADMIN_PASSWORD line with its hash, to paste into .env.",
            "ui": "Start the pages. Settings are read from the environment and from ./.env.",
            "serve": "Serve the chat to other programs as an OpenAI-compatible endpoint, protected by SERVE_TOKEN.",
            "sync": "Exchange knowledge bases and finished runs with the bucket of DATA_ROOT once.",
            "doctor": "Check the configuration, and which configured parts respond.",
        },
    ),
    *lazy(
        "chatbot_mvp.cli.backup:backups",
        {
            "backup": "Write all data to one archive, also while servers and runs are at work.",
            "restore": "Restore DATA_DIR from an archive, as a whole or not at all. Stop servers and runs first.",
        },
    ),
    *lazy(
        "chatbot_mvp.cli.gate:gate",
        {
            "gate": "Test whether today's code and configuration are worse than a baseline. "
            "Exit code: 0 no, 3 yes, 4 cannot tell.",
        },
    ),
    DefaultGroup(
        "tune",
        "Find the best configuration for a knowledge base or a data set, with proof. "
        "``tune KB|DATASET`` is short for ``tune run``, ``tune --resume`` for ``tune resume``.",
        *lazy(
            "chatbot_mvp.cli.tune:tune",
            {
                "run": "Find the best configuration for a knowledge base or a data set. "
                "Ctrl-C stops it safely; ``resume`` continues.",
                "resume": "Continue a stopped or killed tune: measure what is missing.",
                "list": "List tunes, newest first.",
                "show": "Show the result of a finished tune.",
                "apply": "Use the winner of a tune for all chats and runs. ``undo`` restores what was there.",
                "undo": "Restore the settings as they were before the latest ``apply``.",
            },
        ),
    ),
    LazyGroup(
        "benchmark",
        "Measure a retrieval strategy on a data set.",
        *lazy(
            "chatbot_mvp.cli.runs:benchmark",
            {
                "run": "Run a benchmark in the foreground. Ctrl-C stops it safely; ``resume`` continues it.",
                "resume": "Continue a stopped or killed run: process the queries that are missing.",
                "retry": "Process the failed queries of a run again, and those that are missing.",
                "show": "Show a finished run.",
                "list": "List finished runs, and those that can be resumed.",
                "compare": "Compare runs over the same questions: differences with intervals and p-values, "
                "and the questions that changed.",
                "history": "Show a metric of all runs on one data set over time, "
                "and the first run that fell out of the band.",
                "export": "Write a finished run in another format.",
                "import": "Import a run from another machine or program, to show and compare it like any other.",
            },
        ),
    ),
    LazyGroup(
        "kb",
        "Ask a document and measure the answers.",
        *lazy(
            "chatbot_mvp.cli.kb:kb",
            {
                "ask": "Answer a question from a document. The document is saved as a knowledge base.",
                "evaluate": "Measure the chat on a document: which passages it finds, which questions it accepts, "
                "and how fast.",
                "promise": "Promise a share of wrong answers from labelled questions, or say how many are missing; "
                "then exit code 4.",
                "questions": "Propose questions to evaluate a document. A person should review them before use.",
            },
        ),
        *lazy(
            "chatbot_mvp.cli.review:review",
            {
                "review": "Review the chat's answers: list what waits, or label with single keys or from a file.",
            },
        ),
    ),
    LazyGroup(
        "datasets",
        "Download, list and share data sets.",
        *lazy(
            "chatbot_mvp.cli.datasets:datasets",
            {
                "fetch": "Download a public data set into a folder under data/datasets; "
                "a failed download resumes where it stopped.",
                "list": "List the data sets that a run can use by name: bundled, under data/datasets, on S3, "
                "and knowledge bases.",
                "push": "Upload a data set to s3://MINIO_BUCKET_NAME/S3_DATASETS_PREFIX/NAME/; "
                "unchanged files are not sent again.",
                "to-kb": "Keep a data set as a knowledge base to chat with, "
                "and its queries as a question set of that knowledge base.",
            },
        ),
    ),
    LazyGroup(
        "ragas",
        "Score answers of any RAG system with the metrics of Ragas.",
        *lazy(
            "chatbot_mvp.cli.ragas:ragas",
            {
                "run": "Score a file of answers. To continue a stopped evaluation: chatbot-mvp benchmark resume RUN.",
                "agreement": "Measure how well the judge agrees with people on faithfulness: "
                "accuracy and Cohen's kappa on labelled rows.",
            },
        ),
        LazyGroup(
            "prompts",
            "Save the judge's prompts as Ragas does, or make them in another language.",
            *lazy(
                "chatbot_mvp.cli.ragas:prompts",
                {
                    "save": "Write the prompts as Ragas' save_prompts() does: <metric>_<prompt>_<language>.json.",
                    "adapt": "Make the prompts that a folder lacks in a language, with the judge, "
                    "and keep them there for review.",
                },
            ),
        ),
    ),
    options=typer.main.get_command(_program).params,
)
"""The command ``chatbot-mvp``."""
