"""A server that is killed in a tune, an exchange, a promise or a review loses nothing, and its next start goes on."""

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
from tests.s3_server import BUCKET, KEY, SECRET, S3Server

for _wing in ("tune", "sharing", "promise", "review"):
    pytest.importorskip(f"chatbot_mvp.wings.{_wing}.service")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

WORKS = (
    "tune",
    "promise",
    pytest.param("sync", marks=pytest.mark.xdist_group("s3")),  # one process starts the server
    "review",
)


@pytest.fixture
def bucket(request: pytest.FixtureRequest, work: str) -> dict[str, str]:
    """The environment variables that name the bucket, for the work that needs one."""
    if work != "sync":
        return {}
    s3: S3Server = request.getfixturevalue("s3")
    return {"CHAOS_S3_ENDPOINT": s3.endpoint, "CHAOS_S3_KEY": KEY, "CHAOS_S3_SECRET": SECRET, "CHAOS_S3_BUCKET": BUCKET}


def killed(work: str, kills: int, bucket: dict[str, str]) -> dict[str, Any]:
    """Run the script in a process without threads, which can be forked safely; return its report."""
    command = [
        sys.executable,
        "-m",
        "tests.kills.app",
        "--work",
        work,
        "--kills",
        str(kills),
        "--seed",
        "5",
        "--json",
    ]
    done = subprocess.run(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, env={**os.environ, **bucket})
    report: dict[str, Any] = json.loads(done.stdout)
    assert sum(report["kills"].values()) == kills
    return report


@pytest.mark.sampled(1)
@pytest.mark.parametrize("work", [pytest.param("tune", marks=pytest.mark.slow), *WORKS[1:]])
def test_killed_a_few_times_nothing_that_was_reported_as_done_is_lost(work: str, bucket: dict[str, str]) -> None:
    assert killed(work, 4, bucket)["differences"] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("work", WORKS)
def test_killed_many_times_nothing_is_lost_and_work_goes_on(work: str, bucket: dict[str, str]) -> None:
    kills = draws(200, 10)
    report = killed(work, kills, bucket)
    assert report["differences"] == []
    assert sum(report["done"].values()) > kills // 10
    assert len(report["kills"]) >= draws(2, 1), "they fall into several phases"


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("tune", ["done", "20260101-tune", "better"]),
        ("promise", ["done", "level", 0.05]),
        ("review", ["done", "00000000aaaa", "right"]),
    ],
)
def test_what_was_reported_and_is_not_there_is_found_out(
    name: str, reported: list[Any], tmp_path: Path, clean_env: Path
) -> None:
    from tests.kills import evaluation_works

    work = evaluation_works.EVALUATION_WORKS[name]()
    assert work.check(work.app(tmp_path)) == ([], 0)
    work.learn([reported])
    [problem], _ = work.check(work.app(tmp_path))
    assert "lost" in problem or "not one of" in problem
