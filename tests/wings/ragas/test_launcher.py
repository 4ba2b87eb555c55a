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


@pytest.mark.slow
def test_a_job_that_was_stopped_is_gone_on_with_by_the_next(asking: Settings, stub: JudgeStub, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name, arguments in (("chatbot-mvp", "-m chatbot_mvp.cli "), ("python", "")):
        path = folder / ".venv" / "bin" / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', "utf-8")
        path.chmod(0o755)
    (folder / ".venv" / "bin" / "activate").write_text(f'PATH="{folder}/.venv/bin:$PATH"\n', "utf-8")
    (folder / "mis datos.jsonl").write_bytes(to_json_lines(given(count=10)))
    (folder / "config.yaml").write_text("metrics: [LLMContextRecall]\nconcurrency: 1\n", "utf-8")
    environment = environment_of(asking, stub) | {"DATASET": "mis datos.jsonl"}

    def job() -> subprocess.Popen[bytes]:
        script = PROJECT_ROOT / "docs" / "launcher.sh"
        return subprocess.Popen(["bash", script], cwd=folder, env=environment, stderr=subprocess.DEVNULL)

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
