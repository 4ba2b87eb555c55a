"""Backups of a server at work are states that existed, and a killed backup or restore leaves the old or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.cases import draws
from tests.kills.works import WORKS
from tests.test_faults import trials, wrong

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def report_of(backups: int, kills: int, seed: int) -> dict[str, Any]:
    numbers = ["--backups", str(backups), "--kills", str(kills), "--seed", str(seed)]
    command = [sys.executable, "-m", "tests.wings.backup.at_work", *numbers, "--json"]
    done = subprocess.run(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode != 0) == bool(report["differences"])
    return report


@pytest.mark.slow
def test_a_backup_or_restore_that_fails_leaves_the_old_state_or_the_new_one(tmp_path: Path) -> None:
    """A sample; ``tests/test_faults.py`` tries every operation."""
    found = trials(tmp_path, 127, "backup", "restore")
    assert {trial["scenario"] for trial in found} == {"backup", "restore"}
    assert not wrong(found)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_backups_of_a_server_at_work_hold_all_that_was_done_and_kills_leave_old_or_new() -> None:
    backups, kills = draws(60, 20), draws(200, 60)
    report = report_of(backups, kills, seed=1)
    assert report["differences"] == []
    assert report["backups"] == dict.fromkeys(WORKS, backups // len(WORKS))
    assert report["resumed"] > 1, "runs were at work when they were backed up"
    assert sum(report["kills"].values()) == kills
    assert set(report["kills"]) <= {f"{what}: {state}" for what in ("backup", "restore") for state in ("old", "new")}
