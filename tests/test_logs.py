"""LOG_FORMAT: text for people; with jsonl every line on stderr is one JSON object. No secret is in either."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp import logs
from chatbot_mvp.cli.progress import ProgressLine, progress_event
from chatbot_mvp.settings.early import log_format
from chatbot_mvp.settings.model import PROJECT_ROOT, SECRETS, Settings
from chatbot_mvp.types import Progress
from tests.cli.test_main import CONTRACT
from tests.conftest import Command

Captured = pytest.CaptureFixture[str]
RUN = ["benchmark", "run", "--strategy", "LEXICAL", "--max-queries", "3"]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_tells_its_events_and_progress_as_objects_and_stdout_stays_one(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOG_FORMAT", "jsonl")
    code, out, err = command(*RUN, "--json")
    assert code == 0
    assert set(json.loads(out)) >= CONTRACT
    told = lines(err)
    assert {"time", "level", "logger", "message"} <= set.intersection(*(set(line) for line in told))
    events = [line.get("event") for line in told]
    assert {"run_start", "query_result", "llm_request", "run_complete", "progress"} <= set(events)
    # Each event is told as it stands in the run's file.
    [recorded] = (tmp_path / "data" / "results").glob("*/events.jsonl")
    kept = lines(recorded.read_text("utf-8"))
    said = [line for line in told if line.get("run_id")]
    assert len(said) == len(kept)
    for row in kept:  # threads that write at the same time may change places
        assert any(row.items() <= line.items() for line in said), row
    progress = next(line for line in told if line.get("event") == "progress" and line["phase"] == "generate")
    assert {"done", "total", "rate", "seconds_left", "failed", "tokens", "cost_usd"} <= set(progress)


def test_an_error_is_one_object_with_its_code(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_FORMAT", "jsonl")
    for arguments, name in (
        (("benchmark", "show", "nope"), "run_not_found"),
        (("benchmark", "run", "--strategy", "MAGIC"), "unknown_choice"),
        (("benchmark", "run", "--max-queries", "-1"), "usage"),
        (("benchmark", "run", "--nonsense"), "usage"),
    ):
        code, out, err = command(*arguments)
        [line] = lines(err)
        assert (code, out, line["code"], line["exit_code"], line["level"]) == (2, "", name, 2, "ERROR")
        assert line["message"]


def test_a_wrong_setting_is_told_in_the_format_that_was_asked_for(command: Command, clean_env: Path) -> None:
    (clean_env / ".env").write_text("LOG_FORMAT=jsonl\nRETRIEVAL_K=none\n", "utf-8")
    code, _, err = command(*RUN)
    assert (code, lines(err)[-1]["code"]) == (2, "invalid_setting")
    (clean_env / ".env").write_text("LOG_FORMAT=yaml\n", "utf-8")
    assert log_format() == "text"
    code, _, err = command(*RUN)
    assert code == 2
    assert err.startswith("chatbot-mvp: LOG_FORMAT='yaml'")


def test_an_exception_that_nobody_caught_and_a_warning_are_objects_too(
    capsys: Captured, logging_as_it_was: None
) -> None:
    logs.configure("jsonl")
    try:
        raise ValueError("broken")
    except ValueError as error:
        sys.excepthook(ValueError, error, error.__traceback__)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", stacklevel=1)
    uncaught, warned = lines(capsys.readouterr().err)
    assert "ValueError: broken" in uncaught["exception"]
    assert "old" in warned["message"]


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_no_secret_is_in_any_line(
    form: str, settings: Settings, capsys: pytest.CaptureFixture[str], logging_as_it_was: None
) -> None:
    values = {name: f'very/"secret"-{name}' for name in SECRETS}
    found = settings.with_changes(**values).secret_values
    assert sorted(found) == sorted(values.values())
    logs.configure(form, verbose=True, secrets=found)
    log = logging.getLogger("some.library")
    for value in values.values():
        try:
            raise RuntimeError(f"refused: Bearer {value}")
        except RuntimeError:
            log.exception("asked with %s", value, extra={"event": {"url": f"http://h/?key={value}", "l": [value, 1]}})
    told = capsys.readouterr().err
    assert len(told.splitlines()) >= len(values)
    assert "very" not in told
    assert "***" in told


@pytest.mark.parametrize("with_error_file", [False, True])
def test_text_lines_are_as_they_were(
    with_error_file: bool, tmp_path: Path, capsys: Captured, logging_as_it_was: None
) -> None:
    logs.configure("text", errors_path=tmp_path / "errors.jsonl" if with_error_file else None)
    logging.getLogger("chatbot_mvp.x").info("quiet")
    logging.getLogger("chatbot_mvp.x").warning("loud")
    logs.say("plain")
    assert capsys.readouterr().err == "WARNING:chatbot_mvp.x:loud\nplain\n"


def test_verbose_shows_the_lines_of_every_level(capsys: Captured, logging_as_it_was: None) -> None:
    for verbose, shown in ((True, "DEBUG:chatbot_mvp.x:detail\nINFO:chatbot_mvp.x:quiet\n"), (False, "")):
        logs.configure("text", verbose=verbose)
        logging.getLogger("chatbot_mvp.x").debug("detail")
        logging.getLogger("chatbot_mvp.x").info("quiet")
        assert capsys.readouterr().err == shown


def test_progress_is_a_line_every_few_seconds_with_failures_tokens_and_cost(
    capsys: Captured, logging_as_it_was: None
) -> None:
    logs.configure("text")
    with ProgressLine() as progress:
        for done in range(100):
            progress(Progress("generate", done, 200, 10.0, 0, failed=2, tokens=12_345, cost_usd=0.01234))
        for _ in range(3):
            progress(Progress("queued", 0, 0))
        progress(Progress("generate", 200, 200, 20.0, 0, tokens=5, cost_usd=None))
    assert capsys.readouterr().err.splitlines() == [
        "generate: 0/200  2 failed  12,345 tokens  0.0123 USD",
        "queued: 0/0",
        "generate: 200/200  10.0/s  5 tokens  cost not known",
    ]


def test_a_progress_event_has_null_for_what_is_not_known() -> None:
    event = progress_event(Progress("generate", 50, 200, 10.0, 10, failed=1, tokens=7, cost_usd=0.5))
    assert event == {
        "event": "progress",
        "phase": "generate",
        "done": 50,
        "total": 200,
        "rate": 4.0,
        "seconds_left": 37.5,
        "failed": 1,
        "tokens": 7,
        "cost_usd": 0.5,
    }
    assert progress_event(Progress("load", 0, 1))["rate"] is None


BAR = """
from chatbot_mvp import logs
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.types import Progress
logs.configure("text")
with ProgressLine() as progress:
    for done in range(1, 41):
        progress(Progress("generate", done, 40, done / 10, 0, failed=1, tokens=999, cost_usd=0.5))
    progress(Progress("export", 0, 1))
print("{}")
"""


def test_on_a_terminal_progress_is_a_bar_and_stdout_stays_clean() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", BAR],
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "TERM": "xterm", "COLUMNS": "140"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # Linux tells the end of a terminal like this
        pass
    finally:
        os.close(ours)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"{}\n")
    text = shown.decode()
    assert "40/40" in text
    assert "1 failed  999 tokens  0.5000 USD" in text
    assert "\x1b[?25h" in text, "the cursor is shown again"
