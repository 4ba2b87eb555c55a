"""What the commands share: options, the App and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings, log_format

EnvOption = Annotated[Path | None, typer.Option("--env", help="Read this file instead of ./.env")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="More log lines on stderr")]


def open_app(env: Path | None, verbose: bool = False, **overrides: Any) -> App:
    """The App under the settings of ``env`` and the command's own; logs go to stderr."""
    # First: reading the settings may have something to say.
    logs.configure(log_format(env), verbose)
    settings = load_settings(env, **overrides)
    logs.configure(settings.log_format, verbose, logs.secrets_of(settings))
    return build_app(settings)


def print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False))
