"""What a Ray cluster that refuses makes a command say: *Ray* of docs/operate/refusals.md."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.loopback import free_port
from tests.refusals import expect, unproven
from tests.wings.ray.nodes import RayNodes


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason='needs pip install "chatbot-mvp[ray]"')
def test_ray(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_ENGINE", "ray")

    def run(address: str) -> tuple[int, str, str]:
        monkeypatch.setenv("RAY_ADDRESS", address)
        return command("benchmark", "run", "--no-generation")

    away = f"127.0.0.1:{free_port()}"
    expect("nobody listens at RAY_ADDRESS", run(away), ray=away)
    expect("RAY_ADDRESS has no port", run("ray.example.org"))
    # In a process of its own, because Ray reads its token once.
    program = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation"]
    with RayNodes(nodes=1) as nodes:
        environment = {**os.environ, **nodes.environment, "RAY_AUTH_TOKEN": "0" * 64, "RAY_ADDRESS": nodes.address}
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        expect("the token of the cluster is wrong", (done.returncode, done.stdout, done.stderr), ray=nodes.address)


def test_every_row_of_the_page_is_proven_here() -> None:
    assert unproven("Ray", Path(__file__)) == []
