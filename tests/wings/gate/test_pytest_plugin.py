"""The pytest plugin in a project of its own, run by a pytest of its own."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.conftest import Command
from tests.docs.pages import blocks

SAMPLES = PROJECT_ROOT / "data" / "samples" / "kb"
TESTS = """
def test_nothing_changed(assert_not_worse):
    report = assert_not_worse("kb.md", "questions.jsonl", "baseline.json", metrics=["useful"], tolerance=0.02)
    assert report.verdict == "not_worse"

def test_worse_than_a_perfect_baseline(assert_not_worse):
    assert_not_worse("kb.md", "questions.jsonl", "perfect.json")

def test_too_few_questions_may_be_allowed(assert_not_worse):
    assert_not_worse("kb.md", "questions.jsonl", "unclear.json", allow_unclear=True)
"""


def installed(folder: Path) -> Path:
    """Write the entry points of ``pyproject.toml`` as an installation does, and return the folder for the path.

    The environment of these tests may have been installed before there was one.
    """
    points = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    info = folder / "site" / "gate_entry-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gate-entry\nVersion: 1\n", "utf-8")
    lines = [f"{name} = {module}" for name, module in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]), "utf-8")
    return folder / "site"


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    names = {name.upper() for name in Settings.model_fields}
    environment = {name: value for name, value in os.environ.items() if name.upper() not in names}
    paths = os.pathsep.join((str(installed(folder)), str(PROJECT_ROOT)))
    environment |= {"PYTHONPATH": paths, "DATA_DIR": "data", "RETRIEVAL_STRATEGY": "LEXICAL"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_project_asserts_that_its_knowledge_base_is_not_worse(
    command: Command, clean_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    project = tmp_path / "project"
    project.mkdir()
    (project / "kb.md").write_bytes((SAMPLES / "politica_empresa.md").read_bytes())
    (project / "questions.jsonl").write_bytes((SAMPLES / "preguntas.jsonl").read_bytes())
    (project / "test_kb.py").write_text(TESTS, "utf-8")
    # The file of the guide, with the names that the guide uses.
    [example] = [block.text for block in blocks("docs/guide/gate.md") if block.language == "python"]
    (project / "test_manual.py").write_text(example, "utf-8")
    (project / "manual.md").write_bytes((project / "kb.md").read_bytes())
    (project / "preguntas.jsonl").write_bytes((project / "questions.jsonl").read_bytes())
    monkeypatch.chdir(project)
    save = ("gate", "--save-baseline", "baseline.json", "--kb", "kb.md", "--questions", "questions.jsonl")
    assert command(*save, "--metric", "useful")[0] == 0
    baseline = json.loads(Path("baseline.json").read_text("utf-8"))
    found = {name: one["scores"] for name, one in baseline["measured"]["questions"].items()}
    scores = [each for each in found.values() if "useful" in each]
    fallen = next(name for name, each in found.items() if each.get("useful") == 0.0)
    found[fallen]["useful"] = 1.0
    Path("unclear.json").write_text(json.dumps(baseline), "utf-8")
    for each in scores:
        each["useful"] = 1.0
    Path("perfect.json").write_text(json.dumps(baseline), "utf-8")
    done = pytest_in(project, "-q")
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "Gate: " in done.stdout
    assert "useful: 1.0000 -> " in done.stdout
    assert "fell (" in done.stdout
    assert f"{fallen}  1.000 -> 0.000  " in done.stdout


def test_the_plugin_is_an_entry_point_and_loads_without_the_app(tmp_path: Path) -> None:
    code = "import sys; print([n for n in sys.modules if n.startswith(('chatbot_mvp.', 'numpy', 'pydantic'))])"
    (tmp_path / "conftest.py").write_text(f"def pytest_sessionfinish():\n    {code}\n", "utf-8")
    shown = pytest_in(tmp_path, "-q", "-s")
    [line] = [line for line in shown.stdout.splitlines() if line.startswith("['chatbot_mvp.")]
    own = {"cli.pytest_plugin", "wings.gate.for_pytest", "wings.gate.pytest_plugin", "plugins.finding", "plugins.kinds"}
    packages = {"cli", "plugins", "wings", "wings.gate"}
    assert set(ast.literal_eval(line)) == {f"chatbot_mvp.{name}" for name in own | packages}
