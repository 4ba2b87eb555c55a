"""Code shared by the commands: common options, opening the App, printing JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.early import log_format
from chatbot_mvp.settings.model import load_settings

EnvOption = Annotated[Path | None, typer.Option("--env", help="Read this file instead of ./.env")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="More log lines on stderr")]


def open_app(env: Path | None, verbose: bool = False, **overrides: Any) -> App:
    """Build the App from the settings of ``env``; ``overrides`` are the command's own options. Logs go to stderr."""
    # Configured first because reading the settings may already log warnings.
    logs.configure(log_format(env), verbose)
    settings = load_settings(env, **overrides)
    logs.configure(settings.log_format, verbose, settings.secret_values)
    return build_app(settings)


def print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False))
