"""Entry point of the command line: runs a command and turns errors into a line on stderr and an exit code.

With ``--json``, an error is also the one JSON object on stdout: {"error": {"code", "message", "hint", "exit_code"}}.
``hint`` is the next step, which ``message`` ends with; "" if there is none.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import nullcontext
from typing import Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.cli.commands import PROGRAM, cli
from chatbot_mvp.ending import whole_ending
from chatbot_mvp.errors import ChatbotError, RunStopped
from chatbot_mvp.settings.early import log_format
from chatbot_mvp.terminal import json_line, say, stdout_kept

_UsageError: Any = typer.BadParameter.mro()[1]
"""Click's UsageError. Newer versions of Typer bundle their own Click, so it is not imported by name."""


def program() -> None:
    """``main`` as the whole of a process."""
    with whole_ending():
        main()


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code."""
    with stdout_kept() if _wants_json() else nullcontext():
        _run()


def _run() -> None:
    jsonl = log_format() == "jsonl"
    if jsonl:
        logs.configure("jsonl")
    try:
        # By default Typer prints usage errors in a text box, which is not JSON.
        code = cli(prog_name=PROGRAM, standalone_mode=not (jsonl or _wants_json()))
    except ChatbotError as error:
        # Stopped before the run was created, so there is no id to resume.
        early = isinstance(error, RunStopped) and error.params["run_id"] == "?"
        said = "stopped; what was done is kept, and the same command continues from there" if early else str(error)
        _report(said, error.code, "" if early else error.hint, error.exit_code)
        raise SystemExit(error.exit_code) from error
    except _UsageError as error:
        said = error.format_message() or "no command was given; --help lists the commands"
        asked = error.ctx.command_path if error.ctx else PROGRAM
        _report(said, "usage", f"{asked} --help lists the options.", error.exit_code)
        raise SystemExit(error.exit_code) from error
    except (typer.Abort, KeyboardInterrupt) as error:
        _report("interrupted", "interrupted", "", RunStopped.exit_code)
        raise SystemExit(RunStopped.exit_code) from error
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:  # a defect of the program; Python prints the traceback on stderr
        hint = "This is a defect of the program; the traceback is on stderr."
        _print_error(f"{type(error).__name__}: {error}", "unexpected", hint, 1)
        raise
    raise SystemExit(code or 0)


def _report(text: str, code: str, hint: str, exit_code: int) -> None:
    prefix = "" if logs.is_jsonl() else f"{PROGRAM}: "
    logs.say(f"{prefix}{text}", logging.ERROR, code=code, exit_code=exit_code)
    _print_error(text, code, hint, exit_code)


def _print_error(text: str, code: str, hint: str, exit_code: int) -> None:
    if _wants_json():
        error = {"code": code, "message": text, "hint": hint, "exit_code": exit_code}
        say(json_line({"error": error}))


def _wants_json() -> bool:
    """Return whether the command line has ``--json``. Read from ``sys.argv``, because parsing it may be what failed."""
    return "--json" in sys.argv[1:]
