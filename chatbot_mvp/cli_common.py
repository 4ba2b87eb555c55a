"""What the commands share: options, the App, progress and JSON."""

from __future__ import annotations

import json
import logging
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.settings import load_settings
from chatbot_mvp.types import Progress

EnvOption = Annotated[Path | None, typer.Option("--env", help="Read this file instead of ./.env")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="More log lines on stderr")]


def open_app(env: Path | None, verbose: bool = False, **overrides: Any) -> App:
    """The App under the settings of ``env`` and the command's own; logs go to stderr."""
    # First: reading the settings may have something to say.
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if verbose else logging.WARNING)
    # Their debug lines hold the headers of requests, and by them the access key.
    for library in ("boto3", "botocore", "s3transfer", "urllib3"):
        logging.getLogger(library).setLevel(logging.INFO)
    settings = load_settings(env, **overrides)
    return build_app(settings)


class ProgressLine:
    """Progress on stderr: one line that is rewritten on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = 0.0
        self._phase = ""
        self._stop = False
        # The first Ctrl-C ends the run at a clean place; a second one is the usual interrupt.
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(signal.SIGTERM, self._on_interrupt)

    def _on_interrupt(self, *_: object) -> None:
        self._stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, progress: Progress) -> None:
        if self._stop:
            raise RunStopped(run_id="?")
        now = time.monotonic()
        every = 0.1 if self._terminal else 5.0
        if progress.phase == self._phase and now - self._shown < every and progress.done != progress.total:
            return
        self._shown, self._phase = now, progress.phase
        text = f"{progress.phase}: {progress.done}/{progress.total}"
        if progress.rate:
            text += f"  {progress.rate:.1f}/s"
        if progress.seconds_left:
            text += f"  {progress.seconds_left:.0f} s left"
        print(f"\r\x1b[K{text}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False))
