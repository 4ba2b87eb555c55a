"""Entry point of the command line: runs a command and turns errors into a line on stderr and an exit code.

With ``--json``, an error is also the one JSON object on stdout: {"error": {"code", "message"}}.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.cli.commands import cli
from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.settings.early import log_format

_UsageError: Any = typer.BadParameter.mro()[1]
"""Click's UsageError. Newer versions of Typer bundle their own Click, so it is not imported by name."""


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code."""
    jsonl = log_format() == "jsonl"
    if jsonl:
        logs.configure("jsonl")
    try:
        # By default Typer prints usage errors in a text box, which is not JSON.
        code = cli(standalone_mode=False) if jsonl or _wants_json() else cli()
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
    except Exception as error:  # a defect of the program; Python prints the traceback on stderr
        _print_error(f"{type(error).__name__}: {error}", "unexpected")
        raise
    raise SystemExit(code or 0)


def _tell(text: str, code: str, exit_code: int) -> None:
    prefix = "" if logs.is_jsonl() else "chatbot-mvp: "
    logs.say(f"{prefix}{text}", logging.ERROR, code=code, exit_code=exit_code)
    _print_error(text, code)


def _print_error(text: str, code: str) -> None:
    if _wants_json():
        print(json.dumps({"error": {"code": code, "message": text}}, ensure_ascii=False))


def _wants_json() -> bool:
    """Return whether the command line has ``--json``. Read from ``sys.argv``, because parsing it may be what failed."""
    return "--json" in sys.argv[1:]
