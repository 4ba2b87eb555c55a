"""Every optional part that is missing × every command that could need it: one line where it is needed, else nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from chatbot_mvp import health
from tests.conftest import Command
from tests.missing_parts import ANSWER, DATASET, PARTS, QUESTION, REFUSED, SAMPLE, STORAGE, Part, refused_by
from tests.s3_server import S3Server

COMMANDS = {
    "doctor": ("doctor",),
    "datasets": ("datasets", "list"),
    "runs": ("benchmark", "list"),
    "plan": ("benchmark", "run", "--dataset", DATASET, "--no-generation", "--dry-run"),
    "run": ("benchmark", "run", "--dataset", DATASET, "--max-queries", "2", "--no-generation"),
    "answers": ("benchmark", "run", "--dataset", DATASET, "--max-queries", "1"),
    "ask": ("kb", "ask", str(SAMPLE), QUESTION),
    "remote": ("benchmark", "run", "--dataset", "s3://lakehouse/sets/one", "--no-generation"),
    "by name": ("benchmark", "run", "--dataset", "by_name_on_s3", "--no-generation"),
    "sync": ("sync",),
}
"""Columns. What each prints is checked by its own tests; here, that it works or says why not."""
FAST = {
    *((part, command) for part in STORAGE for command in ("doctor", "datasets", "run", "ask")),
    *((part, next(iter(row.needed))) for part, row in PARTS.items() if row.needed),
}
"""What ``make test`` tries; the rest of the matrix is slow."""


@pytest.fixture(scope="module", autouse=True)
def documents_are_read_once() -> Iterator[None]:
    """Doctor reads some in processes of their own, where no part is taken away."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_each_format", "_fences"):
            patch.setattr(health, name, cache(getattr(health, name)))
        yield


def concerns(part: Part, command: str) -> bool:
    """Whether a command says something about a part: those of S3 and of the shared root need theirs."""
    return command not in ("remote", "by name", "sync") or command in part.needed


MATRIX = [
    pytest.param(part, command, marks=() if (part, command) in FAST else pytest.mark.slow)
    for part, row in PARTS.items()
    for command in COMMANDS
    if concerns(row, command)
]


def carry_out(part: Part, name: str, command: Command) -> None:
    """Run a command without a part; fail unless it works, or ends with the one line that is expected."""
    code, out, err = command(*COMMANDS[name], "--json")
    assert "Traceback" not in err
    told = json.loads(out)
    lines = [line for line in err.splitlines() if line.startswith("chatbot-mvp: ")]
    if name in part.needed:
        assert (told["error"]["code"], code > 0) == (part.needed[name], True), told
        assert told["error"]["hint"]
        assert len(lines) == 1
        return
    assert "error" not in told, told
    assert code == 0
    if name == "doctor":
        failed = {check: row["detail"] for check, row in told.items() if check != "providers" and not row["ok"]}
        # A provider that is configured and does not answer is in doctor's table of providers.
        mute = {"provider" for row in told["providers"].values() if row["chosen"] and row["reachable"] is False}
        assert {*failed, *mute} == set(part.checks)
        assert all(detail.strip() and "\n" not in detail for detail in failed.values())
    if name == "ask":
        assert ANSWER in told["answer"]
    if name in ("run", "answers"):
        assert told["queries"] == (2 if name == "run" else 1)


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("part", "name"), MATRIX)
def test_a_command_works_without_a_part_or_says_in_one_line_what_is_missing(
    part: str, name: str, command: Command, clean_env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PARTS[part].take_away(monkeypatch, clean_env)
    carry_out(PARTS[part], name, command)


FAST_WRONG = {(wrong, name) for wrong in REFUSED for name in ("doctor", "by name")} | {("S3 with a wrong key", "run")}


@pytest.mark.sampled(2)
@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        pytest.param(wrong, name, marks=() if (wrong, name) in FAST_WRONG else pytest.mark.slow)
        for wrong in REFUSED
        for name in ("doctor", "datasets", "run", "ask", "by name")
    ],
)
def test_an_s3_server_that_refuses_is_one_line_where_it_is_asked_and_nothing_elsewhere(
    wrong: str, name: str, s3: S3Server, command: Command, clean_env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = refused_by(s3, wrong)
    part.take_away(monkeypatch, clean_env)
    carry_out(part, name, command)
