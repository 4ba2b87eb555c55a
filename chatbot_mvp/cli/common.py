"""Code shared by the commands: common options, opening the App, printing JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.app import App, build_app
from chatbot_mvp.datasets.layout import split_reference
from chatbot_mvp.documents.origins import source_of
from chatbot_mvp.errors import KbNotFound
from chatbot_mvp.evaluation.run_sources import names_kb
from chatbot_mvp.retrieval.systems import SYSTEMS, get_system
from chatbot_mvp.settings.early import log_format
from chatbot_mvp.settings.model import load_settings, where_set
from chatbot_mvp.terminal import json_line, say

INCOMPLETE = 6
"""Exit code where some of what was given, or is listed, could not be used; the rest is done."""

EnvOption = Annotated[Path | None, typer.Option("--env", help="Read this file instead of ./.env")]
SplitOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Split whose judgements are used; by default test, or the only one")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")]
PresetOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"System to work as, in place of the settings in effect: {', '.join(SYSTEMS)}; the command's other "
        "options take precedence",
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="More log lines on stderr")]


def open_app(env: Path | None, verbose: bool = False, **overrides: Any) -> App:
    """Build the App from the settings of ``env``; ``overrides`` are the command's own options. Logs go to stderr."""
    # Configured first because reading the settings may already log warnings.
    logs.configure(log_format(env), verbose)
    settings = load_settings(env, **overrides)
    logs.configure(settings.log_format, verbose, settings.secret_values)
    return build_app(settings)


def preset_changes(preset: str | None, env: Path | None) -> dict[str, Any]:
    """Return the settings of a preset, those excepted that its users set themselves in the environment or a file."""
    return get_system(preset).over(where_set(env).__contains__) if preset else {}


def with_split(env: Path | None, dataset: str | None, split: str | None) -> str | None:
    """Return the reference of a split of a data set, by default MTEB_DATASET_NAME; ``dataset`` if no split is given."""
    if not split:
        return dataset
    reference, named = split_reference(dataset or load_settings(env).mteb_dataset_name)
    if named not in ("", split):
        raise typer.BadParameter(f"the data set's name asks for the split {named!r}", param_hint="--split")
    if names_kb(reference):
        raise typer.BadParameter("a knowledge base has no splits", param_hint="--split")
    return f"{reference}#{split}"


def kb_of(app: App, document: str) -> str:
    """Return the id of the knowledge base that a command names: a stored one, or what it is made from.

    What names neither is returned as it is: it may be a data set.

    Args:
        document: a file, the documents of a source, as "NAME:REST", or the id or name of a stored one. A file comes
            first.

    Raises:
        KbUnreadable, KbChangeError (kb_name_ambiguous)
        UploadError, MissingPackage, KbNotWritten: the documents cannot be read or kept.
    """
    if source_of(document):
        return app.kbs.add_from(document).kb_id
    try:
        return stored_kb(app, document)
    except KbNotFound:
        return document


def stored_kb(app: App, name: str) -> str:
    """Return the id of the stored knowledge base with this id or name.

    Raises:
        KbNotFound, KbUnreadable
        KbChangeError (kb_name_ambiguous)
    """
    return app.kbs.named(name).kb_id


def print_json(value: dict[str, Any]) -> None:
    say(json_line(value))
