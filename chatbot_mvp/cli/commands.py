"""Table of all commands: the module that has each one, and its line in help pages."""

from __future__ import annotations

from typing import Annotated

import typer

from chatbot_mvp import __version__
from chatbot_mvp.cli.lazy import Commands, LazyGroup, lazy
from chatbot_mvp.plugins.finding import added
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
            "doctor": "Check the configuration, and which configured parts respond.",
            "plugins": "List what wings and installed packages add, and what is left out because it cannot be loaded.",
        },
    ),
    *lazy(
        "chatbot_mvp.cli.check:checking",
        {"check": "Check each sentence of a text against documents. Exit code 6: some --pairs cannot be used."},
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
        "Keep documents as knowledge bases, ask them, and measure the answers.",
        *lazy(
            "chatbot_mvp.cli.kb:kb",
            {
                "ask": "Answer a question from a knowledge base, or from a document, which is saved as one.",
                "evaluate": "Measure the chat on a document: which passages it finds, which questions it accepts, "
                "and how fast.",
                "questions": "Propose questions to evaluate a document. A person should review them before use.",
                "purge": "Take documents out of every version and out of everything that quotes them. "
                "This cannot be undone.",
            },
        ),
        *lazy(
            "chatbot_mvp.cli.kb_documents:documents",
            {
                "create": "Make a knowledge base of files. Exit code 6: some cannot be used, the others are in.",
                "add": "Add files to a knowledge base, or replace the documents under their paths. "
                "Exit code 6: some cannot be used.",
                "sync": "Make a knowledge base equal to a folder: files come, replace, move and go. "
                "Exit code 6: some cannot be used.",
                "remove": "Remove documents or folders. Earlier versions keep them.",
                "move": "Move or rename a document or a folder.",
                "describe": 'Change what is said of documents; "" clears a field or all tags.',
                "original": "Write the file that a document was uploaded as.",
                "text": "Print what was read of a document: its text; with --json also its blocks, its reader, "
                "and what was lost.",
                "reread": "Read the kept files of documents again, as a new version. "
                "Exit code 6: of some no file is kept.",
            },
        ),
        *lazy(
            "chatbot_mvp.cli.kb_versions:versions",
            {
                "list": "List the knowledge bases, or the documents of one. Exit code 6: something of them cannot "
                "be read.",
                "rename": "Give a knowledge base another name. Its id stays.",
                "delete": "Delete a knowledge base with all its versions, files and indexes.",
                "history": "Show the versions of a knowledge base, the newest first.",
                "diff": "Show what came, went, moved and changed between two versions, paragraph by paragraph.",
                "restore": "Give a knowledge base the documents of an earlier version again.",
                "stage": "Let files wait as the draft, as `kb add --stage` does; without files, show what waits.",
                "publish": "Make the draft the current version, with what has changed since.",
                "drop": "Drop the draft.",
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
    options=typer.main.get_command(_program).params,
)
"""The command ``chatbot-mvp``."""

for _commands in added("command", Commands, refused=lambda commands: cli.refusal(commands)).values():
    cli.add(_commands)
