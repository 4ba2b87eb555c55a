"""A server that is killed while it saves settings, chats, takes uploads and runs benchmarks loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.cases import batches, draws
from tests.kills.works import WORKS, app_over

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(kills: int, seed: int) -> dict[str, Any]:
    """Run the script in a process without threads, which can be forked safely; return its report."""
    command = [sys.executable, "-m", "tests.kills.app", "--kills", str(kills), "--seed", str(seed), "--json"]
    done = subprocess.run(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE)
    report: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode != 0) == bool(report["differences"])
    return report


@pytest.mark.slow
def test_killed_twenty_times_the_application_has_all_that_it_reported_as_done() -> None:
    report = killed(20, seed=1)
    assert report["differences"] == []
    assert sum(report["kills"].values()) == 20
    phases = {phase.partition(":")[0] for phase in report["kills"]}
    assert phases == {"settings", "chats", "uploads", "documents", "runs"}


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("settings", ["done", "setting", 7]),
        ("settings", ["done", "note", 7]),
        ("uploads", ["done", "a-1-00000000", "kept"]),
        ("runs", ["done", "20260101_run", ""]),
    ],
)
def test_what_was_reported_and_is_not_there_is_found_out(
    name: str, reported: list[Any], tmp_path: Path, clean_env: Path
) -> None:
    work = WORKS[name]()
    assert work.check(app_over(tmp_path)) == ([], 0)
    work.learn([reported])
    [problem], _ = work.check(app_over(tmp_path))
    assert reported[1] in problem


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", batches(4, 1))
def test_killed_in_all_phases_it_has_it_as_well(seed: int) -> None:
    kills = draws(250, 40)
    report = killed(kills, seed)
    assert report["differences"] == []
    assert sum(report["kills"].values()) == kills
    assert sum(report["done"].values()) > kills // 5
    assert len(report["kills"]) >= draws(15, 8), "they fall into all kinds of phases"
