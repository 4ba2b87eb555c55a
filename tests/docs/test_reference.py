"""The documentation holds what the registries hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.cli.commands import cli
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.llm.registry import PROVIDERS, Provider
from chatbot_mvp.metrics.registry import METRICS, MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.causes import Cause
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.settings.paths import SettingPaths

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
_NAMED = re.compile(r"`(?:python )?((?:chatbot_mvp|streamlit_app|benchmarks|tests|docs)/[\w./]+)`")


def page(name: str) -> str:
    return (REFERENCE / name).read_text("utf-8")


def row(text: str, first: str) -> str:
    """The one row of a table that begins with this cell."""
    [found] = [line for line in text.splitlines() if line.startswith(f"| `{first}` |")]
    return found


def item(text: str, first: str) -> str:
    """What the one item of a list that begins with this name says of it."""
    [said] = re.findall(rf"^- `{re.escape(first)}`(?: `[^`]*`)?(?: \([^)]*\))?(?: ★)?: (.+)$", text, re.MULTILINE)
    return str(said)


@pytest.mark.parametrize("script", ["docs/generate_reference.py", "benchmarks/write_settings.py"])
def test_what_is_generated_is_up_to_date(script: str) -> None:
    # Without PYTHONPATH a script would import the installed package, which may be another checkout's.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    check = subprocess.run([sys.executable, ROOT / script, "--check"], capture_output=True, text=True, env=environment)
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("name", ["settings.md", "ajustes.md"])
def test_every_setting_is_documented_with_a_meaning(name: str) -> None:
    text = page(name)
    for setting in Settings.model_fields:
        assert len(item(text, setting.upper()).split()) >= 2, setting


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_every_strategy_is_documented(name: str) -> None:
    assert f"| `{name}` |" in page("strategies.md")


@pytest.mark.parametrize("readme", ["docs/reference/providers.md", "README.es.md"])
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda provider: provider.name)
def test_every_provider_is_documented_with_what_it_needs(provider: Provider, readme: str) -> None:
    found = row((ROOT / readme).read_text("utf-8"), provider.name)
    for name in (*provider.keys, *provider.needs):
        assert name.upper() in found


COMMANDS = dict(cli.leaves())


def test_the_commands_are_those_of_the_contract() -> None:
    assert set(COMMANDS) >= {
        *("benchmark run", "benchmark resume", "benchmark list", "benchmark compare", "benchmark export"),
        *("benchmark retry", "benchmark show", "benchmark import"),
        *("datasets fetch", "datasets list", "datasets push"),
        *("ragas run", "ragas agreement"),
        *("kb ask", "kb questions", "kb evaluate", "serve", "doctor", "hash-password"),
    }


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_is_documented_with_all_its_options(path: str) -> None:
    section = page("commands.md").partition(f"### {path}\n")[2].partition("\n### ")[0]
    assert f"chatbot-mvp {path}" in section
    options = [name for parameter in COMMANDS[path].load().params for name in parameter.opts if name.startswith("--")]
    assert [name for name in options if name not in section and name != "--help"] == []


OWN_METRICS = [spec for spec in METRICS.values() if spec.takes != "row"]


@pytest.mark.parametrize("metric", OWN_METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_documented_with_its_direction(metric: MetricSpec) -> None:
    found = item(page("metrics.md"), metric.family if metric.k is None else f"{metric.family}@K")
    assert ("lower is better" in found) != metric.higher_is_better


def test_every_cause_and_export_format_is_documented() -> None:
    assert [cause for cause in Cause if f"- `{cause.value}`: " not in page("metrics.md")] == []
    assert [name for name in FORMATS if not item(page("exports.md"), name)] == []


def test_every_place_of_the_data_folder_is_documented() -> None:
    text = page("files-and-formats.md")
    settings = Settings(data_dir=Path("/data"))
    paths = {name: getattr(settings, name) for name in vars(SettingPaths) if name.endswith(("_dir", "_path"))}
    assert len(paths) > 15
    assert [name for name, path in paths.items() if path.name not in text and not name.endswith("run_lock_path")] == []


def test_the_modules_and_scripts_that_the_pages_name_exist() -> None:
    missing = set()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        if (
            path.name.startswith("add-a") or path.name == "wings.md"
        ):  # they name files that a reader is to write; a test of their own does that
            continue
        named = re.findall(
            r"`(?:python )?((?:chatbot_mvp|streamlit_app|benchmarks|tests|docs)/[\w./]+)`(?!, a new file)",
            path.read_text("utf-8"),
        )
        missing |= {f"{path.name}: {name}" for name in named if not (ROOT / name).exists()}
    # Written when something is chosen in Admin; the folders of a wing called NAME.
    allowed = ("app_settings", "chatbot_mvp/data/", "/NAME")
    assert {entry for entry in missing if not any(part in entry for part in allowed)} == set()


def test_nothing_written_at_run_time_is_tracked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    tracked = subprocess.run(["git", "ls-files", "data"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(
        path.startswith(("data/samples/", "data/env.example", "data/ragas_config.example.yaml"))
        for path in tracked.stdout.split()
    )
