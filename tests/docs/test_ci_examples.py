"""The examples for GitHub and GitLab: their lines run in a shell, in a repository as their comments describe it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

EXAMPLES = PROJECT_ROOT / "docs" / "examples" / "ci"
SAMPLES = PROJECT_ROOT / "data" / "samples" / "kb"


def load(name: str) -> dict[str, Any]:
    value = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    assert isinstance(value, dict)
    return value


GITHUB: list[dict[str, Any]] = load(".github/workflows/kb-gate.yml")["jobs"]["gate"]["steps"]
[GATE] = [step["run"] for step in GITHUB if step.get("name") == "Gate"]
JOBS = {name: job for name, job in load(".gitlab-ci.yml").items() if name != "variables"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the sample as its knowledge base; its baseline is saved as the examples' comment says."""
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "manual.md").write_bytes((SAMPLES / "politica_empresa.md").read_bytes())
    (tmp_path / "kb" / "questions.jsonl").write_bytes((SAMPLES / "preguntas.jsonl").read_bytes())
    install(tmp_path)
    comments = [(EXAMPLES / name).read_text("utf-8") for name in (".github/workflows/kb-gate.yml", ".gitlab-ci.yml")]
    [save] = {line.strip("# ") for text in comments for line in text.splitlines() if "--save-baseline" in line}
    done = shell(tmp_path, save)
    assert done.returncode == 0, done.stderr
    return tmp_path


def install(folder: Path) -> None:
    """Put the command into ``bin`` of the repository, instead of the lines that install the project."""
    program = folder / "bin" / "chatbot-mvp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chatbot_mvp.cli "$@"\n', "utf-8")
    program.chmod(0o755)


def shell(folder: Path, script: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run lines as the runners do: ``bash -e`` with pipefail."""
    names = {name.upper() for name in Settings.model_fields} | {"GITHUB_STEP_SUMMARY"}
    environment = {name: value for name, value in os.environ.items() if name.upper() not in names}
    environment |= {"PATH": f"{folder / 'bin'}:{environment['PATH']}", "PYTHONPATH": str(PROJECT_ROOT)}
    environment |= {"DATA_DIR": str(folder / "data"), "RETRIEVAL_STRATEGY": "LEXICAL", **settings}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def perfect(repository: Path) -> None:
    """Replace the baseline by one with full marks, which today's run is worse than."""
    path = repository / "kb" / "baseline.json"
    baseline = json.loads(path.read_text("utf-8"))
    for one in baseline["measured"]["questions"].values():
        one["scores"] = dict.fromkeys(one["scores"], 1.0)
    path.write_text(json.dumps(baseline), "utf-8")


@pytest.mark.slow
def test_the_lines_of_github_pass_warn_and_fail(repository: Path) -> None:
    summary = repository / "summary.md"
    done = shell(repository, GATE, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0, done.stderr
    assert summary.read_text("utf-8").startswith("### Gate: not worse")
    done = shell(repository, GATE, KB_TOP_K="1")
    assert (done.returncode, "::warning::The gate cannot tell" in done.stdout) == (0, True), done.stderr
    perfect(repository)
    done = shell(repository, GATE, KB_TOP_K="1")
    assert (done.returncode, "### Gate: WORSE" in done.stdout) == (3, True), done.stderr
    (repository / "kb" / "baseline.json").unlink()
    assert shell(repository, GATE).returncode == 2


@pytest.mark.slow
def test_the_lines_of_gitlab_have_the_exit_code_of_the_gate_and_leave_a_report(repository: Path) -> None:
    job = JOBS["kb-gate"]
    script = "\n".join(job["script"])
    assert shell(repository, script).returncode == 0
    assert shell(repository, script, KB_TOP_K="1").returncode == job["allow_failure"]["exit_codes"] == 4
    perfect(repository)
    assert shell(repository, script, KB_TOP_K="1").returncode == 3
    assert "<testsuite " in (repository / job["artifacts"]["reports"]["junit"]).read_text("utf-8")


def test_every_job_installs_the_project_and_then_runs_the_gate() -> None:
    lines = [step["run"] for step in GITHUB if "run" in step]
    assert lines == ['pip install "$CHATBOT_MVP"', GATE]
    for name, job in JOBS.items():
        assert job["before_script"] == ['pip install "$CHATBOT_MVP"'], name
        assert all(line.startswith("chatbot-mvp ") for line in job["script"]), name


@pytest.mark.slow
def test_the_short_form_reaches_its_level_on_the_bundled_data_set(tmp_path: Path) -> None:
    install(tmp_path)
    done = shell(tmp_path, "\n".join(JOBS["benchmark-level"]["script"]))
    assert done.returncode == 0, done.stderr
    assert "required 0.8: reached" in done.stderr
