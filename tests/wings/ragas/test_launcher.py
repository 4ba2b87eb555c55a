"""``docs/launcher.sh``: a job that is told to stop, and the next one that goes on with its run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.wings.ragas.rows import to_json_lines
from tests.waiting import wait_until
from tests.wings.ragas.conftest import app_of, environment_of, given
from tests.wings.ragas.judging.judge_stub import JudgeStub

SCRIPT = PROJECT_ROOT / "docs" / "launcher.sh"


def job_folder(tmp_path: Path) -> Path:
    """A folder to start jobs in, with an environment that has this program."""
    folder = tmp_path / "job"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name, arguments in (("chatbot-mvp", "-m chatbot_mvp.cli "), ("python", "")):
        path = folder / ".venv" / "bin" / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', "utf-8")
        path.chmod(0o755)
    (folder / ".venv" / "bin" / "activate").write_text(f'PATH="{folder}/.venv/bin:$PATH"\n', "utf-8")
    return folder


@pytest.mark.parametrize("config", [True, False], ids=["named in config.yaml", "without config.yaml"])
def test_a_job_without_a_data_set_takes_the_one_of_the_configuration_else_data(
    asking: Settings, stub: JudgeStub, tmp_path: Path, config: bool
) -> None:
    folder = job_folder(tmp_path)
    (folder / "datos").mkdir()
    (folder / ("datos/mios.jsonl" if config else "data.jsonl")).write_bytes(to_json_lines(given(count=1)))
    if config:
        (folder / "config.yaml").write_text("metrics: [LLMContextRecall]\ndataset: datos/mios.jsonl\n", "utf-8")
    done = subprocess.run(
        ["bash", SCRIPT], cwd=folder, env=environment_of(asking, stub), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [run] = app_of(asking).archive.runs()[0]
    assert run.dataset == ("mios" if config else "data")


@pytest.mark.slow
def test_a_job_that_was_stopped_is_gone_on_with_by_the_next(asking: Settings, stub: JudgeStub, tmp_path: Path) -> None:
    folder = job_folder(tmp_path)
    (folder / "mis datos.jsonl").write_bytes(to_json_lines(given(count=10)))
    (folder / "config.yaml").write_text("metrics: [LLMContextRecall]\nconcurrency: 1\n", "utf-8")
    environment = environment_of(asking, stub) | {"DATASET": "mis datos.jsonl"}

    def job() -> subprocess.Popen[bytes]:
        return subprocess.Popen(["bash", SCRIPT], cwd=folder, env=environment, stderr=subprocess.DEVNULL)

    stub.piece_delay = 0.4
    first = job()
    wait_until(lambda: len(stub.requests) >= 3 or first.poll() is not None, 60, "three requests")
    assert first.poll() is None
    first.terminate()
    assert first.wait(30) == 130
    [run] = app_of(asking).archive.unfinished()
    assert 0 < run.recorded < 10
    stub.piece_delay = 0.0
    assert job().wait(60) == 0
    assert app_of(asking).archive.run(run.run_id).scored == {"ragas_context_recall": (10, 10)}
    assert len(app_of(asking).archive.runs()[0]) == 1
    assert len(stub.requests) == 10, "nothing was asked twice"
