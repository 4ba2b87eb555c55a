"""A write that dies or is refused at any file operation leaves the old state or the new one, and the next one works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.cases import draws
from tests.fault_scenarios import SCENARIOS
from tests.faults import KINDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

JOB = "upload by a job"
"""Takes longer than all others together: it builds the application in each trial."""
SAMPLED = ("setting", "answer", "question set", "submission", "equal upload, undone and done")


def trials(folder: Path, every: int, *names: str) -> list[dict[str, Any]]:
    known = {name.upper() for name in Settings.model_fields}
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", str(folder), str(every), *names],
        cwd=PROJECT_ROOT,
        env={name: value for name, value in os.environ.items() if name.upper() not in known},
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrong(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trials that left neither the old nor the new state, blocked the next write, or raised no error of ours."""
    bad = []
    for trial in found:
        outcome = trial["outcome"] or {}
        # A crash has no outcome. A refused operation may go unnoticed where nothing depends on it, as in cleaning up.
        named = "error" not in outcome or outcome["code"]
        in_between = trial["state"] not in ("old", "new") or ("value" in outcome and trial["state"] != "new")
        if in_between or trial["after"] != "new" or "error" in trial["again"] or not named:
            bad.append(trial)
    return bad


@pytest.mark.slow
def test_a_write_that_fails_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    found = trials(tmp_path, 7, *SAMPLED)
    assert {trial["scenario"] for trial in found} == set(SAMPLED)
    assert {trial["kind"] for trial in found} == set(KINDS)
    assert not wrong(found)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("names", "most"), [([name for name in SCENARIOS if name != JOB], 900), ([JOB], 300)], ids=["writes", "job"]
)
def test_every_write_survives_a_fault_at_each_of_its_operations(tmp_path: Path, names: list[str], most: int) -> None:
    """In CI at every tenth one."""
    every = draws(1, 10)
    found = trials(tmp_path, every, *names)
    assert {trial["scenario"] for trial in found} == set(names)
    assert len(found) > most // every
    assert {trial["state"] for trial in found} == {"old", "new"}
    assert not wrong(found)


def test_the_faults_are_noticed(tmp_path: Path) -> None:
    """A write in place, without a copy, would be found out."""
    code = (
        "from pathlib import Path; from tests.faults import *; import json, sys\n"
        "def read(data):\n    return json.loads((data / 'a.json').read_text())\n"
        "def write(data, n):\n"
        "    with (data / 'a.json').open('w') as file:\n        file.write(json.dumps(list(range(n))))\n"
        "scenario = Scenario(lambda data: write(data, 5), lambda data: write(data, 50), read)\n"
        "for trial in trials(scenario, Path(sys.argv[1]), 1):\n    print(json.dumps({'scenario': '', **trial}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, check=True, timeout=60
    )
    assert len(wrong([json.loads(line) for line in done.stdout.splitlines()])) >= 4
